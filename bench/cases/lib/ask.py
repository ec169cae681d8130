"""Requests and responses of the cases, and what iperf3 says.
ask.py serve | rr|crr SECONDS REQUEST RESPONSE (bytes, over one connection or a new one each) | iperf3 <JSON"""
import json, socket, struct, sys, threading, time
HOST = ("10.77.2.2", 7000)

def exactly(s, count):
    while count:
        got = len(s.recv(min(count, 1 << 18)))
        if not got: raise EOFError
        count -= got

def serve(s):
    try:
        while True:
            request, response = struct.unpack("!II", s.recv(8, socket.MSG_WAITALL))
            exactly(s, request)
            s.sendall(bytes(response))
    except (OSError, EOFError, struct.error): s.close()

def connected():
    s = socket.create_connection(HOST, 20)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s

if sys.argv[1] == "serve":
    listener = socket.create_server(HOST, backlog=64)
    while True:
        s = listener.accept()[0]
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(s,), daemon=True).start()
elif sys.argv[1] == "iperf3":
    said = json.load(sys.stdin)
    end = said["end"]
    got = end.get("sum_received", {"bits_per_second": 0})
    if "lost_percent" in got: print("RESULT loss_pct %.2f" % (got["lost_percent"] if got["packets"] else 100))
    else: print("RESULT rate_mbps %.2f" % (got["bits_per_second"] / 1e6), said.get("error", ""))
else:
    seconds, request, response = (float(word) for word in sys.argv[2:5])
    message = struct.pack("!II", int(request), int(response)) + bytes(int(request))
    s, times, start = None, [], time.monotonic()
    while time.monotonic() < start + seconds:
        began = time.monotonic()
        if s is None: s = connected()
        s.sendall(message)
        exactly(s, int(response))
        if sys.argv[1] == "crr": s = s.close()
        times.append(time.monotonic() - began)
    print("RESULT latency_ms %.3f" % (sum(times) / len(times) * 1e3))
