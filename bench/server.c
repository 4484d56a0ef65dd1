/*
 * The MCP server that every contender of the benchmark talks to: both eras, next to no cost of its own.
 * It is not an example of a server: it trusts its input, knows five tools, and keeps one line and one answer in memory.
 *
 *   server [N]     over stdio, with N tools in tools/list (default 5; the first five are real, the rest are padding to list)
 *   server N MS    the same, and it takes that many milliseconds before it reads: a server that is slow to start, at no cost of CPU
 *   server --http  over HTTP on a free port of loopback: prints the port, and ends with its standard input. Answers are JSON at /mcp
 *                  and event streams of one event at /sse; no sessions; subscriptions/listen is acknowledged and then stays silent
 *
 * Tools: echo {text}; add {a, b}; big {size}: one text of that many characters on one line, a newline every 80, or none if plain is true;
 * flood {n}: n log notifications, then the answer; lists {}: how often tools/list was really asked for.
 * Answers to all the lines of one read are written with one write, so 64 calls in flight cost few system calls.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct bytes { char *at; size_t len, cap; };
struct span { const char *at; size_t len; };

static struct bytes out, tools;
static int legacy;                 /* set by initialize: answers carry no resultType then */
static long lists;

static void grow(struct bytes *b, size_t more) {
    if (b->len + more <= b->cap) return;
    while (b->cap < b->len + more) b->cap = b->cap ? b->cap * 2 : 65536;
    b->at = realloc(b->at, b->cap);
    if (!b->at) { perror("realloc"); exit(1); }
}
static void put(struct bytes *b, const char *at, size_t len) { grow(b, len); memcpy(b->at + b->len, at, len); b->len += len; }
static void puts_to(struct bytes *b, const char *text) { put(b, text, strlen(text)); }

static int write_all(int fd, const char *at, size_t len) {
    while (len) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}
static void flush_out(void) {
    if (write_all(1, out.at, out.len)) exit(0);        /* the client is gone */
    out.len = 0;
}

/* --- as much JSON as a request needs ------------------------------------------------------------------------------ */

static const char *blank(const char *p) { while (*p == ' ' || *p == '\t' || *p == '\r') p++; return p; }

static const char *skip_string(const char *p) {
    for (p++; *p && *p != '"'; p++) if (*p == '\\' && p[1]) p++;
    return *p ? p + 1 : p;
}
static const char *skip_value(const char *p) {
    p = blank(p);
    if (*p == '"') return skip_string(p);
    if (*p == '{' || *p == '[') {
        int depth = 0;
        while (*p) {
            if (*p == '"') { p = skip_string(p); continue; }
            if (*p == '{' || *p == '[') depth++;
            if (*p == '}' || *p == ']') if (--depth == 0) return p + 1;
            p++;
        }
        return p;
    }
    while (*p && *p != ',' && *p != '}' && *p != ']' && *p != ' ') p++;
    return p;
}
/* The raw value of one member of an object; length 0 where there is none. */
static struct span member(struct span object, const char *key) {
    struct span none = {"", 0};
    const char *p = blank(object.at);
    size_t key_len = strlen(key);
    if (object.len == 0 || *p != '{') return none;
    for (p = blank(p + 1); *p == '"'; p = blank(p + 1)) {
        const char *name = p + 1, *end = skip_string(p), *value, *after;
        value = blank(blank(end) + 1);
        after = skip_value(value);
        if ((size_t)(end - 1 - name) == key_len && !memcmp(name, key, key_len)) return (struct span){value, (size_t)(after - value)};
        p = blank(after);
        if (*p != ',') break;
    }
    return none;
}
static int is(struct span s, const char *quoted) { return s.len == strlen(quoted) && !memcmp(s.at, quoted, s.len); }

/* --- answers ------------------------------------------------------------------------------------------------------ */

static void open_result(struct span id) {
    puts_to(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
    put(&out, id.at, id.len);
    puts_to(&out, legacy ? ",\"result\":{" : ",\"result\":{\"resultType\":\"complete\",");
}
static void close_result(void) { puts_to(&out, "}}\n"); }

static void text_result(struct span id, const char *json_string, size_t len) {
    open_result(id);
    puts_to(&out, "\"content\":[{\"type\":\"text\",\"text\":");
    put(&out, json_string, len);
    puts_to(&out, "}],\"isError\":false");
    close_result();
}
static void failure(struct span id, int code, const char *message) {
    char tail[200];
    puts_to(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
    put(&out, id.at, id.len);
    put(&out, tail, (size_t)snprintf(tail, sizeof tail, ",\"error\":{\"code\":%d,\"message\":\"%s\"}}\n", code, message));
}
static void big(struct span id, long size, int plain) {
    static const char text[] = "The quick brown fox jumps over the lazy dog, and packs my box with five dozen..";   /* 79 */
    static struct bytes made;
    static long made_size = -1;
    if (size != made_size) {                           /* a contender asks for one kind only */
        made.len = 0;
        put(&made, "\"", 1);
        for (long left = size; left > 0; left -= 80) {
            put(&made, text, left < 79 ? (size_t)left : 79);
            if (left >= 80) put(&made, plain ? " " : "\\n", plain ? 1 : 2);
        }
        put(&made, "\"", 1);
        made_size = size;
    }
    text_result(id, made.at, made.len);
}
static void flood(struct span id, long n) {
    char line[200];
    for (long i = 0; i < n; i++) {
        put(&out, line, (size_t)snprintf(line, sizeof line,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"logger\":\"flood\",\"data\":\"line %ld\"}}\n", i));
        if (out.len > 60000) flush_out();
    }
    text_result(id, "\"done\"", 6);
}
static void call(struct span id, struct span params) {
    struct span name = member(params, "name"), arguments = member(params, "arguments");
    char number[64];
    if (is(name, "\"echo\"")) {
        struct span text = member(arguments, "text");
        text_result(id, text.at, text.len);
    } else if (is(name, "\"add\"")) {
        double sum = strtod(member(arguments, "a").at, NULL) + strtod(member(arguments, "b").at, NULL);
        text_result(id, number, (size_t)snprintf(number, sizeof number, "\"%.15g\"", sum));
    } else if (is(name, "\"big\"")) {
        big(id, strtol(member(arguments, "size").at, NULL, 10), is(member(arguments, "plain"), "true"));
    } else if (is(name, "\"flood\"")) {
        flood(id, strtol(member(arguments, "n").at, NULL, 10));
    } else if (is(name, "\"lists\"")) {
        text_result(id, number, (size_t)snprintf(number, sizeof number, "\"%ld\"", lists));
    } else {
        failure(id, -32602, "unknown tool");
    }
}
static void answer(const char *line) {
    struct span whole = {line, strlen(line)}, id = member(whole, "id"), method = member(whole, "method");
    if (id.len == 0 || method.len == 0) return;           /* notifications and stray answers */
    if (is(method, "\"tools/call\"")) {
        call(id, member(whole, "params"));
    } else if (is(method, "\"tools/list\"")) {
        lists++;
        open_result(id);
        put(&out, tools.at, tools.len);
        if (!legacy) puts_to(&out, ",\"ttlMs\":0,\"cacheScope\":\"private\"");
        close_result();
    } else if (is(method, "\"initialize\"")) {
        legacy = 1;
        open_result(id);
        puts_to(&out, "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{},\"logging\":{}},\"serverInfo\":{\"name\":\"bench\",\"version\":\"1\"}");
        close_result();
    } else if (is(method, "\"server/discover\"")) {
        open_result(id);
        puts_to(&out, "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{},\"logging\":{}},\"ttlMs\":0,\"cacheScope\":\"private\","
                      "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"bench\",\"version\":\"1\"}}");
        close_result();
    } else if (is(method, "\"ping\"") || is(method, "\"logging/setLevel\"")) {
        puts_to(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
        put(&out, id.at, id.len);
        puts_to(&out, legacy ? ",\"result\":{}}\n" : ",\"result\":{\"resultType\":\"complete\"}}\n");
    } else {
        failure(id, -32601, "method not found");
    }
}

static void make_tools(long n) {
    static const char *const real[] = {
        "{\"name\":\"echo\",\"description\":\"Returns the text\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}",
        "{\"name\":\"add\",\"description\":\"Adds two numbers\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"number\"}},\"required\":[\"a\",\"b\"]}}",
        "{\"name\":\"big\",\"description\":\"One long text\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"size\":{\"type\":\"integer\"}},\"required\":[\"size\"]}}",
        "{\"name\":\"flood\",\"description\":\"Notifications, then done\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}}",
        "{\"name\":\"lists\",\"description\":\"How often tools/list was asked for\",\"inputSchema\":{\"type\":\"object\",\"properties\":{}}}",
    };
    char tool[1200];
    puts_to(&tools, "\"tools\":[");
    for (long i = 0; i < n; i++) {
        if (i) puts_to(&tools, ",");
        if (i < 5) { puts_to(&tools, real[i]); continue; }
        put(&tools, tool, (size_t)snprintf(tool, sizeof tool,
            "{\"name\":\"tool_%04ld\",\"title\":\"Tool number %ld\",\"description\":\"Searches collection %ld for records that match a query and returns the best of them, newest first.\","
            "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"description\":\"What to look for\",\"minLength\":1},"
            "\"limit\":{\"type\":\"integer\",\"description\":\"At most this many\",\"minimum\":1,\"maximum\":100,\"default\":10},"
            "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Only records with all of these\"},"
            "\"order\":{\"type\":\"string\",\"enum\":[\"newest\",\"oldest\",\"best\"]}},\"required\":[\"query\"],\"additionalProperties\":false},"
            "\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}}", i, i, i));
    }
    puts_to(&tools, "]");
}

/* --- HTTP: one thread, keep-alive, no more of it than the contenders send ------------------------------------------- */

#define CONNECTIONS 1024
static struct pollfd watched[CONNECTIONS];
static struct bytes inbox[CONNECTIONS];
static int watching;

static void put_format(struct bytes *b, const char *format, size_t value) {
    char text[200];
    put(b, text, (size_t)snprintf(text, sizeof text, format, value));
}
/* Header, body and end leave with one write. */
static int reply(int fd, int as_events, int stays_open) {
    static struct bytes all;
    static const char event[] = "event: message\ndata: ";
    all.len = 0;
    if (!out.len) {
        puts_to(&all, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    } else if (!as_events) {
        put_format(&all, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", out.len);
        put(&all, out.at, out.len);
    } else {
        puts_to(&all, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n");
        put_format(&all, "%zx\r\n", sizeof event - 1 + out.len + 1);
        puts_to(&all, event);
        put(&all, out.at, out.len);
        puts_to(&all, stays_open ? "\n\r\n" : "\n\r\n0\r\n\r\n");
    }
    out.len = 0;
    return write_all(fd, all.at, all.len);
}
/* One whole request in [at, end): the header block ends before body. */
static int handle(int fd, char *head, char *body) {
    static const char listens[] = "\"subscriptions/listen\"";
    struct span whole = {body, strlen(body)};
    if (memcmp(head, "POST ", 5)) {
        static const char no[] = "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n";
        return write_all(fd, no, sizeof no - 1);
    }
    legacy = !strstr(head, "2026-07-28");              /* MCP-Protocol-Version: initialize has none */
    if (is(member(whole, "method"), listens)) {
        struct span id = member(whole, "id"), asked = member(member(whole, "params"), "notifications");
        puts_to(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":"
                      "{\"io.modelcontextprotocol/subscriptionId\":");
        put(&out, id.at, id.len);
        puts_to(&out, "},\"notifications\":");
        put(&out, asked.at, asked.len);
        puts_to(&out, "}}\n");
        return reply(fd, 1, 1);
    }
    answer(body);
    return reply(fd, !memcmp(head, "POST /sse", 9), 0);
}
/* Every whole request in the buffer; nonzero when the connection is to be closed. */
static int requests(int fd, struct bytes *in) {
    for (;;) {
        char *head = in->at, *body, *length, kept;
        size_t used, size = 0;
        int failed;
        grow(in, 1);
        in->at[in->len] = 0;
        head = in->at;
        if (!(body = memmem(head, in->len, "\r\n\r\n", 4))) return 0;
        *body = 0;                                     /* so that searches stay in the header block */
        if ((length = strcasestr(head, "\r\ncontent-length:"))) size = strtoul(length + 17, NULL, 10);
        used = (size_t)(body + 4 - head) + size;
        if (in->len < used) { *body = '\r'; return 0; }
        grow(in, 1);
        body += in->at - head + 4;
        head = in->at;
        kept = head[used];
        head[used] = 0;
        failed = handle(fd, head, body);
        head[used] = kept;
        memmove(head, head + used, in->len - used);
        in->len -= used;
        if (failed) return 1;
    }
}
static int accept_one(int listener) {
    int fd = accept(listener, NULL, NULL), one = 1;
    if (fd < 0 || watching == CONNECTIONS) { if (fd >= 0) close(fd); return 0; }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    inbox[watching].len = 0;
    watched[watching++] = (struct pollfd){.fd = fd, .events = POLLIN};
    return 1;
}
static int serve_http(void) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof here;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&here, size) || listen(listener, 512) ||
        getsockname(listener, (struct sockaddr *)&here, &size)) { perror("listen"); return 1; }
    printf("%d\n", ntohs(here.sin_port));
    fflush(stdout);
    watched[0] = (struct pollfd){.fd = 0, .events = POLLIN};
    watched[1] = (struct pollfd){.fd = listener, .events = POLLIN};
    watching = 2;
    while (poll(watched, (nfds_t)watching, -1) > 0 || errno == EINTR) {
        if (watched[0].revents) return 0;
        for (int i = 2; i < watching; i++) {
            struct bytes *in = &inbox[i];
            ssize_t n;
            if (!watched[i].revents) continue;
            grow(in, 65536);
            n = read(watched[i].fd, in->at + in->len, in->cap - in->len - 1);
            if (n > 0) { in->len += (size_t)n; if (!requests(watched[i].fd, in)) continue; }
            close(watched[i].fd);
            watching--;
            watched[i] = watched[watching];            /* the last one takes its place, and is looked at next */
            struct bytes freed = inbox[i];
            inbox[i] = inbox[watching];
            inbox[watching] = freed;
            i--;
        }
        if (watched[1].revents) accept_one(listener);
    }
    return 1;
}

int main(int argc, char **argv) {
    struct bytes in = {0};
    if (argc > 1 && !strcmp(argv[1], "--http")) {
        signal(SIGPIPE, SIG_IGN);                      /* a client that went away is an error of its own write */
        make_tools(5);
        return serve_http();
    }
    make_tools(argc > 1 ? strtol(argv[1], NULL, 10) : 5);
    if (argc > 2) usleep((useconds_t)(strtol(argv[2], NULL, 10) * 1000));
    for (;;) {
        char *line, *end;
        size_t used;
        ssize_t n;
        grow(&in, 65536);
        n = read(0, in.at + in.len, in.cap - in.len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0;
        in.len += (size_t)n;
        line = in.at;
        while ((end = memchr(line, '\n', in.len - (size_t)(line - in.at)))) {
            *end = 0;
            answer(line);
            line = end + 1;
        }
        used = (size_t)(line - in.at);
        memmove(in.at, line, in.len - used);
        in.len -= used;
        flush_out();
    }
}
