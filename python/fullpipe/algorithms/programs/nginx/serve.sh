#!/bin/sh
# Serves a file of zeros with nginx, in the current directory: serve.sh PORT BYTES
set -eu
truncate -s "$2" zeros
cat > nginx.conf <<END
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    sendfile on;
    client_body_temp_path .;
    proxy_temp_path .;
    fastcgi_temp_path .;
    uwsgi_temp_path .;
    scgi_temp_path .;
    server {
        listen $1;
        root .;
    }
}
END
exec nginx -p "$PWD" -c nginx.conf -e stderr
