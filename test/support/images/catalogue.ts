import { randomBytes } from "node:crypto";
import { busyboxLayer } from "./busybox.ts";
import type { FileEntry, Image, ImageConfig, Layer } from "./image.ts";
import { buildImage, fileLayer } from "./image.ts";

const APPLETS = ["sh", "httpd", "sleep", "env", "cat", "echo", "test", "date", "touch", "mkdir", "printf"];
const ENVIRONMENT = ["PATH=/bin"];
const SECOND_NS = 1_000_000_000;

/** Default port of the web app in its container, set by its variable `PORT`. It also listens on `SECOND_PORT`. */
export const WEB_PORT = 8080;

/**
 * A web app. `/` returns `edge-agent test app`, the value of `GREETING` and its version; `/cgi-bin/env` its
 * environment; `/cgi-bin/file?/path` a file of its container, such as one on a volume; `/cgi-bin/write?/path` writes one.
 *
 * @param version shown on the page; each version is a different image
 */
export async function webImage(version: string = "1"): Promise<Image> {
  const serve = [
    "mkdir -p /www/cgi-bin",
    'echo "edge-agent test app version $VERSION $GREETING" > /www/index.html',
    'echo "serving on port ${PORT:-8080}"',
    '[ -z "$SECOND_PORT" ] || httpd -p "$SECOND_PORT" -h /www',
    "exec httpd -f -p ${PORT:-8080} -h /www",
  ].join("\n");
  return fromScript(serve, {
    files: [
      { path: "www/", directory: true },
      { path: "www/cgi-bin/", directory: true },
      { path: "www/cgi-bin/env", content: cgi("env"), mode: 0o755 },
      { path: "www/cgi-bin/file", content: cgi('cat "$QUERY_STRING" 2>&1'), mode: 0o755 },
      { path: "www/cgi-bin/write", content: cgi('echo written > "$QUERY_STRING" && echo ok'), mode: 0o755 },
    ],
    config: { Env: [`VERSION=${version}`], ExposedPorts: { [`${WEB_PORT}/tcp`]: {} } },
  });
}

/** Runs forever and does nothing. @param version each version is a different image */
export async function sleeperImage(version: string = "1", labels?: ImageConfig["Labels"]): Promise<Image> {
  return fromScript("exec sleep 2147483", {
    config: { Env: [`VERSION=${version}`], ...(labels && { Labels: labels }) },
  });
}

/**
 * Stands in for a public image: runs forever whatever the arguments are, and serves its version on `WEB_PORT`.
 *
 * @param version each version is a different image
 */
export async function standInImage(version: string = "1"): Promise<Image> {
  return fromScript(`exec httpd -f -p ${WEB_PORT} -h /www`, {
    files: [
      { path: "www/", directory: true },
      { path: "www/index.html", content: `version ${version}\n` },
    ],
    config: { Entrypoint: ["/bin/sh", "/main.sh"], Cmd: [] },
  });
}

/** Runs forever. Sets every image option that containers inherit. */
export async function fullyConfiguredImage(labels: Readonly<Record<string, string>>): Promise<Image> {
  return fromScript("exec sleep 2147483", {
    config: {
      Env: ["BROUGHT=by the image", "GREETING=of the image"],
      ExposedPorts: { "8080/tcp": {} },
      Volumes: { "/brought": {} },
      User: "1000:1000",
      Healthcheck: { Test: ["CMD", "true"], Interval: SECOND_NS, Timeout: SECOND_NS, Retries: 1 },
      Labels: labels,
    },
  });
}

/**
 * Runs as its user `node`, 1000:1000, as Node-RED's image does. Writes into its volume `/data`, which belongs to that
 * user, and exits with 1 if it may not. Other files: `/conf/app.conf` of 7:2500000, `/linked` leading to `/data`.
 */
export async function ownUserImage(): Promise<Image> {
  return fromScript("echo flows > /data/flows.json || exit 1\necho saved\nexec sleep 2147483", {
    files: [
      { path: "etc/", directory: true },
      { path: "etc/passwd", content: "root:x:0:0:root:/:/bin/sh\nnode:x:1000:1000::/data:/bin/sh\n" },
      { path: "etc/group", content: "root:x:0:\nnode:x:1000:\n" },
      { path: "data/", directory: true, mode: 0o775, uid: 1000, gid: 1000 },
      { path: "conf/", directory: true },
      { path: "conf/app.conf", content: "answer=42\n", mode: 0o640, uid: 7, gid: 2_500_000 },
      { path: "linked", linkTo: "/data" },
    ],
    config: { User: "node", Volumes: { "/data": {} } },
  });
}

/** A health check that is never run. A deployment waits for it, whatever its settle window is, until the app ends. */
export const NEVER_CHECKED = { Test: ["CMD", "true"], Interval: 86_400 * SECOND_NS, Timeout: SECOND_NS, Retries: 1 };

/** Writes a line to stdout and stderr, runs for `afterSeconds` and exits. */
export async function crasherImage(exitCode: number, afterSeconds: number = 0): Promise<Image> {
  return fromScript(crasherScript(exitCode, afterSeconds));
}

function crasherScript(exitCode: number, afterSeconds: number): string {
  return ["echo starting", 'echo "cannot go on" >&2', `sleep ${afterSeconds}`, `exit ${exitCode}`].join("\n");
}

/** As `crasherImage`, and no deployment of it succeeds before it exits, however slow the machine is. */
export async function crashLoopImage(exitCode: number, afterSeconds: number = 0): Promise<Image> {
  return fromScript(crasherScript(exitCode, afterSeconds), { config: { Healthcheck: NEVER_CHECKED } });
}

/** Writes its environment and exits with 0. */
export async function environmentImage(config: ImageConfig = {}): Promise<Image> {
  return fromScript("env", { config });
}

/** Runs forever. Its health check passes after `healthyAfterSeconds`, or never; it runs each second. */
export async function healthImage(healthyAfterSeconds: number | "never"): Promise<Image> {
  const becomeHealthy = healthyAfterSeconds === "never" ? "" : `sleep ${healthyAfterSeconds}; echo yes > /healthy`;
  return fromScript(`(${becomeHealthy || "true"}) &\nexec sleep 2147483`, {
    config: {
      Healthcheck: {
        Test: ["CMD", "sh", "-c", "test -e /healthy && echo fine || { echo not yet; exit 1; }"],
        Interval: SECOND_NS,
        Timeout: 60 * SECOND_NS,
        Retries: 2,
        ...(healthyAfterSeconds === "never" ? {} : { StartPeriod: (healthyAfterSeconds + 5) * SECOND_NS }),
      },
    },
  });
}

/** Runs forever. Has a layer of new random bytes, which do not compress. */
export async function bigImage(megabytes: number): Promise<Image> {
  const content = randomBytes(megabytes * 1_000_000);
  const blob = await fileLayer([{ path: "blob", content }]);
  return fromScript("exec sleep 2147483", { extraLayers: [blob] });
}

/** An image labelled with another architecture than the machine's. */
export async function foreignImage(): Promise<Image> {
  const { layers, config } = await scriptParts("exec sleep 2147483");
  return buildImage(layers, config, process.arch === "arm64" ? "s390x" : "arm64");
}

/** An image whose command does not exist: its container cannot start. */
export async function brokenImage(): Promise<Image> {
  const { layers, config } = await scriptParts("true");
  return buildImage(layers, { ...config, Cmd: ["/bin/no-such-program"] });
}

function cgi(lines: string): string {
  return `#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\n${lines}\n`;
}

interface ScriptOptions {
  readonly files?: readonly FileEntry[];
  readonly config?: ImageConfig;
  readonly extraLayers?: readonly Layer[];
}

async function fromScript(script: string, options: ScriptOptions = {}): Promise<Image> {
  const { layers, config } = await scriptParts(script, options);
  return buildImage([...layers, ...(options.extraLayers ?? [])], config);
}

async function scriptParts(
  script: string,
  { files = [], config = {} }: ScriptOptions = {},
): Promise<{ layers: Layer[]; config: ImageConfig }> {
  const base = await busyboxLayer(APPLETS);
  // A shell that is process 1 ignores SIGTERM; SIGKILL keeps the tests fast.
  const own = await fileLayer([{ path: "main.sh", content: `#!/bin/sh\n${script}\n`, mode: 0o755 }, ...files]);
  const merged = { Cmd: ["/bin/sh", "/main.sh"], StopSignal: "SIGKILL", ...config };
  return { layers: [base, own], config: { ...merged, Env: [...ENVIRONMENT, ...(config.Env ?? [])] } };
}
