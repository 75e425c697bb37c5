import { debianLayer } from "./debian.ts";
import { buildImage, fileLayer, type Image } from "./image.ts";

/** nginx of Debian 12 and its libraries. */
const PACKAGES = ["nginx", "nginx-common", "libc6", "libcrypt1", "libpcre2-8-0", "libssl3", "zlib1g"];

/** Port it listens on in its container. */
export const NGINX_PORT = 8080;

/**
 * A third-party web server that ends on SIGTERM. `PUT /data/…` stores files in `/data`, where a volume may be mounted;
 * every response has the header `X-Version`.
 *
 * @param version of the image
 * @param directive a further configuration line; an invalid one prevents the start
 */
export async function nginxImage(version: string, directive: string = ""): Promise<Image> {
  const config = `
daemon off;
user root;
worker_processes 1;
pid /tmp/nginx.pid;
error_log stderr notice;
events {}
http {
  access_log off;
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  server {
    listen ${NGINX_PORT};
    add_header X-Version ${version} always;
    location / { return 200 "version ${version}\\n"; }
    location /data/ { root /; dav_methods PUT; create_full_put_path on; }
    ${directive}
  }
}
`;
  const own = await fileLayer([
    { path: "etc/nginx/nginx.conf", content: config },
    { path: "etc/passwd", content: "root:x:0:0:root:/:/bin/false\n" },
    { path: "etc/group", content: "root:x:0:\n" },
    { path: "tmp/", directory: true, mode: 0o1777 },
    { path: "data/", directory: true },
    { path: "var/log/nginx/", directory: true },
  ]);
  const Cmd = ["/usr/sbin/nginx", "-c", "/etc/nginx/nginx.conf"];
  return buildImage([await debianLayer(PACKAGES), own], { Cmd, ExposedPorts: { [`${NGINX_PORT}/tcp`]: {} } });
}
