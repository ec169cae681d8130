/* The smallest generator there can be: one send and one blocking receive per message. A rival in bench-peers. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <signal.h>

static volatile sig_atomic_t over;

static void stop(int signal) {
    (void)signal;
    over = 1;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static struct sockaddr_in address(const char *host, int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, host, &a.sin_addr);
    return a;
}

/* loop receive tcp|udp PORT SIZE */
static void receive(int type, int port, size_t size) {
    struct sockaddr_in a = address("0.0.0.0", port);
    int one = 1, s = socket(AF_INET, type, 0);
    char *buffer = malloc(size);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(s, (struct sockaddr *)&a, sizeof a)) fail("bind");
    if (type == SOCK_DGRAM)
        for (;;)
            if (recv(s, buffer, size, 0) < 0) fail("recv");
    if (listen(s, 1)) fail("listen");
    for (;;) {
        int c = accept(s, 0, 0);
        if (c < 0) fail("accept");
        while (recv(c, buffer, size, 0) > 0) {}
        close(c);
    }
}

/* loop send tcp|udp HOST PORT SIZE SECONDS: prints messages and seconds */
static void send_for(int type, const char *host, int port, size_t size, double seconds) {
    struct sockaddr_in a = address(host, port);
    struct itimerval timer = {.it_value = {(long)seconds, (long)((seconds - (long)seconds) * 1e6)}};
    struct sigaction action = {.sa_handler = stop};
    int s = socket(AF_INET, type, 0);
    char *buffer = malloc(size);
    unsigned long long messages = 0;
    memset(buffer, 1, size);
    if (connect(s, (struct sockaddr *)&a, sizeof a)) fail("connect");
    sigaction(SIGALRM, &action, 0);
    double begin = now();
    setitimer(ITIMER_REAL, &timer, 0);
    while (!over)
        if (send(s, buffer, size, 0) == (ssize_t)size) messages++;
    printf("%llu %.9f\n", messages, now() - begin);
}

int main(int count, char **word) {
    if (count < 5) return 2;
    int type = strcmp(word[2], "udp") ? SOCK_STREAM : SOCK_DGRAM;
    if (!strcmp(word[1], "receive")) receive(type, atoi(word[3]), atol(word[4]));
    if (count < 7) return 2;
    send_for(type, word[3], atoi(word[4]), atol(word[5]), atof(word[6]));
    return 0;
}
