/*
 * hold_port: prints a TCP port of 127.0.0.1 that the kernel chose, and keeps it reserved until the process PID has ended.
 *
 * A socket that is bound but does not listen keeps the kernel from giving the port to anybody who asks for a free one, and a
 * server that sets SO_REUSEADDR, as all servers of the tests do, can still bind it, as often as a test restarts it.
 *
 * usage: port=$(hold_port PID)
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int one = 1, held = socket(AF_INET, SOCK_STREAM, 0);
    int process = argc == 2 ? (int)syscall(SYS_pidfd_open, atoi(argv[1]), 0) : -1;
    if (process < 0 || held < 0 || setsockopt(held, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(held, (const struct sockaddr *)&address, length) != 0 ||
        getsockname(held, (struct sockaddr *)&address, &length) != 0) {
        perror("hold_port");
        return 1;
    }
    printf("%d\n", ntohs(address.sin_port));
    if (fflush(stdout) != 0)
        return 1;
    if (fork() != 0)
        return 0;
    setsid();
    for (int fd = 0; fd < 1024; fd++) /* a pipe that stays open here would never end for its reader */
        if (fd != held && fd != process)
            close(fd);
    struct pollfd ended = {.fd = process, .events = POLLIN};
    while (poll(&ended, 1, -1) < 0)
        ;
    return 0;
}
