#!/bin/sh
# SPDX-License-Identifier: MIT
# /demo/run in the demo's image: starts three real programs from the disk, one after the other, and
# adds to /tmp/times a line "NAME NANOSECONDS" as each one is done. /tmp and /run are in memory, as
# on most machines; everything else, the database included, is on the disk.
set -eu
cd /tmp

done_with() { echo "$1 $(date +%s%N)" >>/tmp/times; }

/usr/bin/python3 -c '
import argparse, ast, asyncio, base64, calendar, collections, configparser, contextlib, csv, ctypes
import dataclasses, decimal, difflib, email.mime.multipart, fractions, ftplib, getpass, glob, gzip
import hashlib, heapq, html.parser, http.client, http.server, imaplib, inspect, json, locale
import logging.config, lzma, multiprocessing.pool, optparse, pathlib, pdb, pickle, platform
import pydoc, queue, random, secrets, shelve, smtplib, socketserver, sqlite3, ssl, statistics
import subprocess, tarfile, tempfile, timeit, tracemalloc, typing, unittest.mock, urllib.request
import uuid, wave, xml.dom.minidom, xml.etree.ElementTree, xmlrpc.client, zipfile, zoneinfo
'
done_with python3

cat >program.c <<'SOURCE'
#include <arpa/inet.h>
#include <complex.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <ftw.h>
#include <inttypes.h>
#include <langinfo.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <tgmath.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
int main(void) { return printf("%.3f\n", cos(getpid() * 0.0)) != 6; }
SOURCE
gcc -O2 -o program program.c -lm
./program >/dev/null
done_with gcc

postgres=$(echo /usr/lib/postgresql/*/bin)
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
as_postgres "$postgres/pg_ctl" --silent --wait --pgdata=/demo/database --log=/tmp/postgres.log \
    --options='-k /tmp -c listen_addresses=' start
as_postgres "$postgres/psql" --host=/tmp --no-psqlrc --quiet --tuples-only --output=/dev/null \
    --command='select count(*) from pg_class join pg_attribute on attrelid = pg_class.oid' postgres
as_postgres "$postgres/pg_ctl" --silent --wait --pgdata=/demo/database --mode=fast stop
done_with postgresql
