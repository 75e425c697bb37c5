import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  classifyContainerText,
  classifyPullText,
  cleanMessage,
  parseHostPort,
  parseMountSource,
} from "../../../../src/agent/engine/docker/error-text.ts";

const REFERENCE = "registry.example:5000/team/app:1.0";

describe("a failed pull", () => {
  test.each([
    [
      "manifest for registry.example:5000/team/app:1.0 not found: manifest unknown: manifest unknown",
      "image_not_found",
    ],
    ["reading manifest 1.0 in registry.example:5000/team/app: name unknown: repository not known", "image_not_found"],
    ["registry.example:5000/team/app:1.0: not found", "image_not_found"],
    [
      "pull access denied for team/app, repository does not exist or may require 'docker login': denied",
      "image_denied",
    ],
    ['Head "https://registry.example:5000/v2/team/app/manifests/1.0": no basic auth credentials', "image_denied"],
    ["initializing source docker://x: reading manifest 1.0: unauthorized: authentication required", "image_denied"],
    ["no matching manifest for linux/amd64 in the manifest list entries", "wrong_platform"],
    ["choosing an image from manifest list: no image found in manifest list for architecture arm64", "wrong_platform"],
    ["no match for platform in manifest: not found", "wrong_platform"],
    [
      'Get "https://registry.example:5000/v2/": dial tcp 10.0.0.1:5000: connect: connection refused',
      "registry_unreachable",
    ],
    [
      'Get "https://registry.example:5000/v2/": dial tcp: lookup registry.example: no such host',
      "registry_unreachable",
    ],
    ['Get "https://registry.example:5000/v2/": net/http: TLS handshake timeout', "registry_unreachable"],
    ['Get "https://registry.example:5000/v2/": x509: certificate signed by unknown authority', "registry_untrusted"],
    [
      'Get "https://registry.example:5000/v2/": tls: failed to verify certificate: x509: certificate is valid for a, not b',
      "registry_untrusted",
    ],
    ['Get "https://registry.example:5000/v2/": http: server gave HTTP response to HTTPS client', "registry_untrusted"],
    ["pinging container registry: Get: x509: certificate has expired or is not yet valid", "registry_untrusted"],
    ['Get "https://registry.example:5000/v2/": remote error: tls: internal error', "registry_unreachable"],
    ["toomanyrequests: You have reached your pull rate limit", "registry_unreachable"],
    ["received unexpected HTTP status: 503 Service Unavailable", "registry_unreachable"],
    ["unexpected status from GET request to https://registry.example/: 502 Bad Gateway", "registry_unreachable"],
    ["unexpected EOF", "registry_unreachable"],
    ["filesystem layer verification failed for digest sha256:00", "wrong_content"],
    [
      'failed commit on ref "layer-sha256:00": unexpected commit digest sha256:11, expected sha256:00: failed precondition',
      "corrupt_layer",
    ],
    ['failed commit on ref "layer-sha256:00": unexpected commit size 20, expected 10', "corrupt_layer"],
    ["write /var/lib/docker/tmp/GetImageBlob123: no space left on device", "no_space"],
    [
      "error parsing HTTP 200 response body: invalid character '<' looking for beginning of value: \"<html>\"",
      "registry_unreachable",
    ],
    ["ApplyLayer exit status 1: permission denied", undefined],
    ["something nobody has seen", undefined],
  ])("%s", (text, kind) => expect(classifyPullText(text, REFERENCE)).toBe(kind));

  test("is not classified by the name of the image", () => {
    const reference = "registry.example/unauthorized/denied-eof:manifest-unknown";
    const text = `Get "https://registry.example/v2/unauthorized/denied-eof/manifests/manifest-unknown": i/o timeout`;
    expect(classifyPullText(text, reference)).toBe("registry_unreachable");
  });
});

const MISSING_MOUNTS = [
  [
    'invalid mount config for type "bind": bind source path does not exist: /srv/with space:colon',
    "/srv/with space:colon",
  ],
  ["statfs /srv/data: no such file or directory", "/srv/data"],
  [
    '/usr/bin/runc: time="2026-11-22T06:39:44Z" level=error msg="runc create failed: unable to start container process: ' +
      'error during container init: error mounting \\"/srv/data\\" to rootfs at \\"/data\\": stat /srv/data: no such file ' +
      'or directory": OCI runtime attempted to invoke a command that was not found',
    "/srv/data",
  ],
] as const;

describe("a mount that is missing", () => {
  test.each(MISSING_MOUNTS)("%s", (text, path) => {
    expect(classifyContainerText(text)).toBe("mount_missing");
    expect(parseMountSource(text)).toBe(path);
  });
});

describe("a failed call on a container", () => {
  test.each([
    [
      "driver failed programming external connectivity: Bind for 0.0.0.0:30080 failed: port is already allocated",
      "port_in_use",
    ],
    ["Error starting userland proxy: listen tcp4 0.0.0.0:30080: bind: address already in use", "port_in_use"],
    ["failed to bind host port for 0.0.0.0:30080:172.17.0.2:80/tcp: address already in use", "port_in_use"],
    ["cannot listen on the TCP port: listen tcp4 :30080: bind: address already in use", "port_in_use"],
    ["rootlessport listen tcp 0.0.0.0:30080: bind: address already in use", "port_in_use"],
    ['Conflict. The container name "/app" is already in use by container "0123".', "conflict"],
    ['creating container storage: the container name "app" is already in use by 0123', "conflict"],
    [
      "driver failed programming external connectivity on endpoint app (123):  (iptables failed: iptables --wait -t nat -A DOCKER -p tcp: iptables: No chain/target/match by that name.\n (exit status 1))",
      "rules_lost",
    ],
    [
      "Unable to enable DNAT rule: (iptables failed: iptables v1.8.9 (nf_tables): Chain 'DOCKER' does not exist)",
      "rules_lost",
    ],
    [
      'netavark: nftables error: "nft" did not return successfully while applying ruleset: Error: No such file or directory',
      "rules_lost",
    ],
    ['netavark: nftables error: unable to execute "nft": No such file or directory (os error 2)', undefined],
    [
      "failed to create endpoint app on network edge: adding interface veth1 to bridge br-1 failed: could not find bridge br-1: no such network interface",
      "bridge_lost",
    ],
    ["adding interface veth1 to bridge br-1 failed: Device does not exist", "bridge_lost"],
    ["no available IPv4 addresses on this network's address pools: edge-agent (123)", "no_addresses"],
    ["sandbox 3b59c1 not found", "between_runs"],
    ["can not get logs from container which is dead or marked for removal", "not_found"],
    ["No such image: app:1", "image_not_found"],
    ["app:1: image not known", "image_not_found"],
    ["mkdir /var/lib/docker/overlay2/0: no space left on device", "no_space"],
    ['exec: "/bin/app": stat /bin/app: executable file not found in $PATH', "invalid"],
    ["error while creating mount source path '/proc/x': mkdir /proc/x: no such file or directory", "invalid"],
    ["making volume mountpoint for volume /proc/x: mkdir /proc/x: no such file or directory", "invalid"],
    ["error while creating mount source path '/data/x': mkdir /data/x: no space left on device", "no_space"],
    ['error gathering device information while adding custom device "/dev/x": no such file or directory', "invalid"],
    ["stat /dev/x: no such file or directory", "invalid"],
    ['invalid mount config for type "bind": stat /srv/file/below: not a directory', "invalid"],
    ["statfs /srv/file/below: not a directory", "invalid"],
    [
      'error mounting "/srv" to rootfs at "/proc/x": "/m/merged/proc/x" cannot be mounted because it is inside /proc',
      "invalid",
    ],
    ['error mounting "/srv" to rootfs at "/sys/x": mkdir /m/merged/sys/x: read-only file system', "invalid"],
    [
      'error mounting "/srv" to rootfs at "/etc/hosts": not a directory: unknown: Are you trying to mount a directory',
      "invalid",
    ],
    [
      "error during container init: error reopening /dev/null inside container: open /dev/null: is a directory",
      "invalid",
    ],
    ["unable to start container process: unable to setup user: stat /dev/null: no such file or directory", "invalid"],
    ["something nobody has seen", undefined],
  ])("%s", (text, kind) => expect(classifyContainerText(text)).toBe(kind));
});

describe("the host port in use", () => {
  test.each([
    [
      "driver failed programming external connectivity: Bind for 0.0.0.0:30080 failed: port is already allocated",
      30080,
    ],
    ["Error starting userland proxy: listen tcp4 0.0.0.0:30080: bind: address already in use", 30080],
    ["failed to bind host port for 0.0.0.0:30080:172.17.0.2:80/tcp: address already in use", 30080],
    ["failed to bind host port 0.0.0.0:30080/tcp: address already in use", 30080],
    ["cannot listen on the TCP port: listen tcp4 :30080: bind: address already in use", 30080],
    ["listen tcp6 [::]:30080: bind: address already in use", 30080],
    ["Bind for :::30080 failed: port is already allocated", 30080],
    ["failed to bind host port for :::30080:fd00::2:80/tcp: address already in use", 30080],
    ["Ports are not available: exposing port TCP 0.0.0.0:30080 -> 127.0.0.1:0: listen tcp 0.0.0.0:30080", 30080],
    ["port 30080 is already in use", 30080],
    ["rootlessport: address already in use", undefined],
  ])("%s", (text, port) => expect(parseHostPort(text)).toBe(port));
});

describe("the message", () => {
  test("is the engine's own, without the client's prefix", () => {
    const text = "(HTTP code 500) server error - driver failed\n  programming\tports ";
    expect(cleanMessage(text)).toBe("driver failed programming ports");
    expect(cleanMessage("(HTTP code 404) no such container - No such image: a - b ")).toBe("No such image: a - b");
  });

  test("of Podman is the reason, without the call it quotes", () => {
    const text =
      '(HTTP code 500) server error - bulk transfer for copier.request{Request:"PUT"}: copier: put: mkdir /a: full';
    expect(cleanMessage(text)).toBe("copier: put: mkdir /a: full");
  });

  test("is one line of bounded length, whatever the engine says", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (text) => {
        expect(cleanMessage(text)).toMatch(/^[^\p{Cc}]{1,500}$/u);
      }),
    );
  });
});
