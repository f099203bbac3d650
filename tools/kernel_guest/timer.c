// SPDX-License-Identifier: GPL-2.0 OR MIT
/* timer OBJECT TARGET LABEL: measures a function, or fp:NAME, a BPF program, until SIGTERM. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "times.h"

static volatile int over;

static void stop(int number)
{
	(void)number;
	over = 1;
}

/* The latest one: an earlier object's programs stay for a while. */
static int named(const char *name)
{
	unsigned id = 0;
	int found = -1;

	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {};
		unsigned size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && !strncmp(info.name, name, 15)) {
			if (found >= 0)
				close(found);
			found = fd;
		} else {
			close(fd);
		}
	}
	return found;
}

static void print(int map, unsigned which, const char *label)
{
	static struct times times;
	unsigned long long seen = 0;
	unsigned quartile[3] = {}, i, q = 0;

	bpf_map_lookup_elem(map, &which, &times);
	for (i = 0; i < BUCKETS; i++) {
		seen += times.of[i];
		while (q < 3 && times.count && seen * 4 >= times.count * (q + 1))
			quartile[q++] = i * STEP;
	}
	printf("COST %s %s %llu %u %u %u\n", label, which ? "tcp_ack" : "control", times.count,
	       quartile[0], quartile[1], quartile[2]);
}

int main(int count, char **words)
{
	static const char *const names[] = { "control_begins", "control_ends", "ack_begins", "ack_ends" };
	struct bpf_object *object;
	const char *target = words[2];
	int fd = 0, map, i;

	if (count != 4)
		return 2;
	signal(SIGTERM, stop);
	object = bpf_object__open_file(words[1], 0);
	if (!strncmp(target, "fp:", 3)) {
		target += 3;
		fd = named(target);
	}
	for (i = 0; i < 4; i++)
		bpf_program__set_attach_target(bpf_object__find_program_by_name(object, names[i]),
					       i < 2 ? fd : 0, i < 2 ? target : "tcp_ack");
	if (fd < 0 || bpf_object__load(object))
		return 1;
	for (i = 0; i < 4; i++)
		if (!bpf_program__attach(bpf_object__find_program_by_name(object, names[i])))
			return 1;
	puts("begun");
	fflush(stdout);
	while (!over)
		usleep(50000);
	map = bpf_map__fd(bpf_object__find_map_by_name(object, "measured"));
	print(map, 0, words[3]);
	print(map, 1, words[3]);
	return 0;
}
