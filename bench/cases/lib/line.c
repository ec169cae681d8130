/* The path of a case: packets that the kernel routes into a TUN device come out of it again later, or never.
   line DEVICE KEY=FORWARD[,BACK] ...: forward is to 10.77.2.0/24, and what has one value has it in both directions.
   delay: ms; rate: Mbit/s; work: us for each packet; queue: the longest wait for both, in ms; loss: per cent;
   late: per cent of packets that take late_ms longer; most: bytes of the longest packet; hold: packets leave at multiples of so many ms;
   twice: per cent of packets that are there twice. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { DELAY, RATE, WORK, QUEUE, LOSS, LATE, LATE_MS, MOST, HOLD, TWICE, KEYS };
static const char *names[KEYS] = {"delay", "rate", "work", "queue", "loss", "late", "late_ms", "most", "hold", "twice"};

enum { ROOM = 1 << 16 };
struct packet {
    double due;
    int length;
    unsigned char *data;
};
static struct way {
    double value[KEYS], busy;
    unsigned first, count;
    struct packet list[ROOM];
} ways[2];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int by_chance(double per_cent) { return drand48() * 100 < per_cent; }

static void take(struct way *way, const unsigned char *data, int length, double time) {
    const double *value = way->value;
    if (by_chance(value[LOSS]) || (value[MOST] > 0 && length > value[MOST]) || way->count == ROOM) return;
    double begin = way->busy > time ? way->busy : time;
    if (value[QUEUE] > 0 && begin - time > value[QUEUE]) return;
    way->busy = begin + value[WORK] / 1e3 + (value[RATE] > 0 ? length * 8 / value[RATE] / 1e3 : 0);
    double due = way->busy + value[DELAY] + (by_chance(value[LATE]) ? value[LATE_MS] : 0);
    if (value[HOLD] > 0) due = ((long)(due / value[HOLD]) + 1) * value[HOLD];
    struct packet packet = {due, length, memcpy(malloc(length), data, length)};
    unsigned at = way->first + way->count++;
    for (; at != way->first && way->list[(at - 1) % ROOM].due > due; at--) way->list[at % ROOM] = way->list[(at - 1) % ROOM];
    way->list[at % ROOM] = packet;
}

int main(int count, char **words) {
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (count < 2 || strlen(words[1]) >= IFNAMSIZ) return 2;
    strcpy(request.ifr_name, words[1]);
    if (ioctl(device, TUNSETIFF, &request)) return perror("tun"), 1;
    for (int i = 2; i < count; i++) {
        char *text = strchr(words[i], '=');
        int key = 0;
        while (text && key < KEYS && (strncmp(words[i], names[key], text - words[i]) || names[key][text - words[i]])) key++;
        if (!text || key == KEYS) return fprintf(stderr, "no key: %s\n", words[i]), 2;
        char *back = strchr(text, ',');
        ways[0].value[key] = atof(text + 1);
        ways[1].value[key] = atof((back ? back : text) + 1);
    }
    srand48(getpid());
    static unsigned char data[1 << 16];
    for (;;) {
        double next = now() + 100;
        for (int i = 0; i < 2; i++) {
            if (ways[i].count && ways[i].list[ways[i].first].due < next) next = ways[i].list[ways[i].first].due;
        }
        double wait = next - now();
        struct timespec timeout = {0, wait > 0 ? wait * 1e6 : 0};
        struct pollfd polled = {device, POLLIN, 0};
        ppoll(&polled, 1, &timeout, NULL);
        for (int length, i = 0; i < 64 && (length = read(device, data, sizeof data)) > 0; i++) {
            struct way *way = &ways[data[18] != 2];
            if (data[0] >> 4 != 4) continue;
            take(way, data, length, now());
            if (by_chance(way->value[TWICE])) take(way, data, length, now());
        }
        for (int i = 0; i < 2; i++) {
            struct way *way = &ways[i];
            while (way->count && way->list[way->first].due <= now()) {
                struct packet *packet = &way->list[way->first];
                if (write(device, packet->data, packet->length) < 0) perror("write");
                free(packet->data);
                way->first = (way->first + 1) % ROOM;
                way->count--;
            }
        }
    }
}
