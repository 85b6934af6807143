"""What the proxy needs: its part of the setup, as `init` prints it and `contrib/` holds it."""

from __future__ import annotations

from tailhealth.logs.hints import SNIPPET

CADDYFILE = (
    """\
# What tailhealth wants from a Caddy (2.8 or later): one JSON log with both kinds of lines about upstreams.
#
# - Access lines, with the upstream appended: they hold the totals, and what the client got.
# - Round-trip lines (DEBUG, one per attempt): they blame the right upstream after a retry, and tell waiting from streaming.
#
# An older Caddy has no log_append: leave those three lines out, the round-trip lines are enough.
{
	# tailhealth talks to the admin interface, at this address by default.
	admin 127.0.0.1:2019

	log traffic {
		output file /var/log/caddy/traffic.log {
			# Caddy's own default is 0600: only Caddy could read it. Put tailhealth's user in Caddy's group.
			mode 0640
			roll_size 100MiB
			roll_keep 5
		}
		format json
		level DEBUG
		include http.log.access http.handlers.reverse_proxy
	}

	# Everything else goes where it went before.
	log default {
		exclude http.log.access
	}
}

http://chat.example.test {
	log
"""
    + "".join(f"\t{line}\n" for line in SNIPPET)
    + """\

	reverse_proxy 10.0.0.1:11434 10.0.0.2:11434 10.0.0.3:11434 10.0.0.4:11434 {
		lb_policy round_robin

		# A configuration change closes websockets unless they get time to end by themselves.
		stream_close_delay 10m

		# Liveness is Caddy's own part: light, and often. Whether the work is stuck is judged by tailhealth.
		health_uri /api/version
		health_interval 5s
		health_timeout 3s
	}
}
"""
)
"""`contrib/caddy/Caddyfile`."""

LOG_FORMAT = """\
# What tailhealth wants to read, as one JSON object per line. Include this file in the `http` block, and write in each server
# whose requests count:
#
#     access_log /var/log/nginx/tailhealth.log tailhealth;
#
# escape=json keeps a client from forging fields with quotes in its request. Every $upstream_* is a list with one element for
# each attempt, so it also names the server that a retry hid. The log must not be buffered (no `buffer=`): late lines are late
# judgement.
log_format tailhealth escape=json
    '{'
        '"msec":"$msec",'
        '"remote_addr":"$remote_addr",'
        '"remote_port":"$remote_port",'
        '"request_method":"$request_method",'
        '"host":"$host",'
        '"request_uri":"$request_uri",'
        '"status":"$status",'
        '"request_time":"$request_time",'
        '"request_length":"$request_length",'
        '"upstream_addr":"$upstream_addr",'
        '"upstream_status":"$upstream_status",'
        '"upstream_connect_time":"$upstream_connect_time",'
        '"upstream_header_time":"$upstream_header_time",'
        '"upstream_response_time":"$upstream_response_time",'
        '"upstream_http_retry_after":"$upstream_http_retry_after",'
        '"upstream_trailer_grpc_status":"$upstream_trailer_grpc_status",'
        '"sent_http_content_type":"$sent_http_content_type"'
    '}';
"""
"""`contrib/nginx/log_format.conf`."""

SITE = """\
# An upstream block whose servers tailhealth can take out, and a server before it. Include this file in the `http` block.
upstream chat {
    # Without a zone each worker process counts by itself, and a limit of one request in flight is one for each of them.
    zone chat 64k;

    # The file that tailhealth owns:  [proxy] include = { chat = "/etc/nginx/tailhealth/chat.conf" }
    include /etc/nginx/tailhealth/chat.conf;
}

server {
    listen 80;
    server_name chat.example.test;
    access_log /var/log/nginx/tailhealth.log tailhealth;

    location / {
        proxy_pass http://chat;

        # nginx gives up after a minute of silence by default: less than a healthy answer of a model may take.
        proxy_read_timeout 300s;
    }
}
"""
"""`contrib/nginx/site.conf`."""

SERVERS = """\
# The `server` lines of the upstream block `chat`, and nothing else: tailhealth rewrites this file. Edit it as you like, it
# keeps what you write; a server that is out carries its mark `down` and, in the line above, why and until when.
#
# max_fails=0 leaves the judgement to one judge: nginx's own would take a server out for 10 s after a single failure.
server 10.0.0.1:11434 max_fails=0;
server 10.0.0.2:11434 max_fails=0;
server 10.0.0.3:11434 max_fails=0;
server 10.0.0.4:11434 max_fails=0;
"""
"""`contrib/nginx/chat.conf`."""

PLUS_SITE = """\
# An upstream block that the API can change: it needs a zone, and a state file lets its changes outlive a reload.
upstream chat {
    zone chat 64k;
    server 10.0.0.1:11434 max_fails=0;
    server 10.0.0.2:11434 max_fails=0;
    server 10.0.0.3:11434 max_fails=0;
    server 10.0.0.4:11434 max_fails=0;
}

# The API, for this machine alone: whoever reaches it can change every upstream.
server {
    listen 127.0.0.1:8080;
    location /api/ {
        api write=on;
        allow 127.0.0.1;
        deny all;
    }
}

server {
    listen 80;
    server_name chat.example.test;
    access_log /var/log/nginx/tailhealth.log tailhealth;

    location / {
        proxy_pass http://chat;
        proxy_read_timeout 300s;
    }
}
"""
"""What an NGINX Plus needs besides the `log_format`; tried on no NGINX Plus."""


def parts(kind: str) -> tuple[tuple[str, str], ...]:
    """Return the proxy's part of the setup: what each text is and where it goes, and the text."""
    if kind == "caddy":
        return (("the Caddyfile, as far as it concerns tailhealth", CADDYFILE),)
    log_format = ("/etc/nginx/tailhealth/log_format.conf, to be included in the http block", LOG_FORMAT)
    if kind == "nginx-plus":
        return (log_format, ("the site, in the http block", PLUS_SITE))
    return (
        log_format,
        ("the site, in the http block: the `server` lines of the upstream block move to a file of their own", SITE),
        ("/etc/nginx/tailhealth/chat.conf: that file, which tailhealth rewrites", SERVERS),
    )
