import type { IncomingMessage, ServerResponse } from "node:http";
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fillPart } from "../../../src/agent/download/fill-part.ts";
import { PartStore } from "../../../src/agent/download/part-store.ts";
import { Throttle } from "../../../src/agent/download/throttle.ts";
import { digestOf } from "../../../src/lib/registry/documents.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { FetchLog, plainClient } from "../../support/download/layer-rig.ts";
import { MemoryRegistry } from "../../support/registry/memory-registry.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { failure, MACHINE, soon } from "./rig.ts";

const PAGE = Buffer.from(`<!DOCTYPE html><html><body>Log in${" ".repeat(300_000)}</body></html>`);
const LAYER = gzipSync(randomBytes(400_000));
const BLOB = { mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest: digestOf(LAYER), size: LAYER.length };
const NAME = "team/app";
/** More than this of a page is not read. The socket may have received more of it on a link as fast as loopback. */
const MAX_READ_BYTES = 64 * 1024;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Ways in which something between the device and the registry answers. */
const PAGES: Readonly<Record<string, Answer>> = {
  "a page": (_, response) => response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(PAGE),
  "a page without a type": (_, response) => response.writeHead(200).end(PAGE),
  "a page of XHTML with a length": (_, response) =>
    response.writeHead(200, { "Content-Type": "application/xhtml+xml", "Content-Length": PAGE.length }).end(PAGE),
  "a redirect to a login page": (request, response) => {
    if (request.url === "/login") response.writeHead(200, { "Content-Type": "text/html" }).end(PAGE);
    else response.writeHead(302, { Location: "/login" }).end();
  },
  "HTTP 511": (_, response) => response.writeHead(511, { "Content-Type": "text/html" }).end(PAGE),
  "HTTP 204": (_, response) => response.writeHead(204).end(),
  "an empty body": (_, response) => response.writeHead(200, { "Content-Length": 0 }).end(),
};

/** What is not the rest of a layer either. */
const OTHER_BODIES: Readonly<Record<string, Answer>> = {
  ...PAGES,
  "a body that is too short": (_, response) => response.writeHead(200, { "Content-Length": 9 }).end("too short"),
  "a body that is too long": (_, response) =>
    response.writeHead(200, { "Content-Length": LAYER.length + 1 }).end(Buffer.concat([LAYER, LAYER.subarray(0, 1)])),
  "a body that a proxy has compressed": (_, response) =>
    response.writeHead(200, { "Content-Encoding": "gzip" }).end(gzipSync(LAYER)),
  "a part of something else": (_, response) =>
    response
      .writeHead(206, {
        "Content-Range": `bytes 0-${LAYER.length - 1}/${LAYER.length * 2}`,
        "Content-Length": LAYER.length,
      })
      .end(LAYER),
};

let registry: MemoryRegistry;
/** Answers in place of the registry, as long as there are some. */
let answers: Answer[];
let directory: Awaited<ReturnType<typeof tempDir>>;

beforeEach(async () => {
  answers = [];
  registry = await MemoryRegistry.start({
    intercept(request, response) {
      const answer = request.url === "/login" ? PAGES["a redirect to a login page"] : answers.shift();
      answer?.(request, response);
      return answer !== undefined;
    },
  });
  const config = Buffer.from(
    JSON.stringify({ ...MACHINE, rootfs: { type: "layers", diff_ids: [`sha256:${"1".repeat(64)}`] }, config: {} }),
  );
  const described = {
    mediaType: "application/vnd.oci.image.config.v1+json",
    digest: digestOf(config),
    size: config.length,
  };
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, config: described, layers: [BLOB] }));
  registry.manifests.set("1", { type: mediaType, bytes: manifest });
  registry.blobs.set(BLOB.digest, LAYER).set(described.digest, config);
  directory = await tempDir();
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

/** As the registry does. */
const sendManifest: Answer = (_, response) => {
  const { type, bytes } = registry.manifests.get("1")!;
  response.writeHead(200, { "Content-Type": type }).end(bytes);
};

const resolve = () => plainClient().resolve(`${registry.host}/${NAME}:1`, MACHINE, undefined, soon());

/** Fetches the layer, retrying at once. Resolves to what was received. */
async function fetchLayer(patienceMs = 20_000): Promise<FetchLog> {
  const log = new FetchLog();
  const image = { registry: registry.host, repository: NAME };
  const client = plainClient();
  await using lease = await new PartStore(directory.path).lease(BLOB);
  await fillPart(lease.part, {
    clock: systemClock,
    random: () => 0,
    bounds: { patienceMs, baseMs: 1, maxMs: 5 },
    stallMs: 10_000,
    throttle: new Throttle(systemClock, () => undefined),
    open: (offset, signal) => client.openBlob(image, BLOB, { offset, signal }),
    onReceived: (bytes) => void (log.received += bytes),
    onAppended: () => {},
    onDropped: () => void log.drops++,
    onInterruption: (trouble) => void log.troubles.push(trouble),
    signal: soon(),
  });
  expect(lease.part.isVerified).toBe(true);
  return log;
}

describe("in place of a manifest", () => {
  test.each(Object.keys(PAGES))("%s is named, costs little, and the next answer counts", async (name) => {
    answers = [PAGES[name]!];
    const error = await failure(resolve());
    expect(error).toMatchObject({ kind: "foreign_answer" });
    expect(error.message).toMatch(/^127\.0\.0\.1:\d+: the (?:network|answer)/);
    expect(error.receivedBytes).toBeLessThanOrEqual(MAX_READ_BYTES);
    expect((await resolve()).layers).toEqual([expect.objectContaining(BLOB)]);
  });

  test("of a proxy, an error page is the error that its status says", async () => {
    answers = [(_, response) => response.writeHead(502, { "Content-Type": "text/html" }).end(PAGE)];
    expect(await failure(resolve())).toMatchObject({ kind: "registry_unreachable" });
  });
});

test.each(Object.keys(PAGES))("in place of a configuration, %s is not one", async (name) => {
  answers = [sendManifest, PAGES[name]!];
  expect(await failure(resolve())).toMatchObject({ kind: "foreign_answer" });
});

describe("in place of a layer", () => {
  test.each(Object.keys(OTHER_BODIES))("%s becomes no byte of it, and the layer is paid for once", async (name) => {
    answers = [OTHER_BODIES[name]!, OTHER_BODIES[name]!];
    const log = await fetchLayer();
    expect(log.drops).toBe(0);
    expect(log.troubles.map(({ kind }) => kind)).toEqual(["refused", "refused"]);
    expect(log.received - LAYER.length).toBeLessThanOrEqual(2 * MAX_READ_BYTES);
  });

  test("a page for ever is said when patience ends, and has cost little", async () => {
    answers = Array.from({ length: 100_000 }, () => PAGES["a page"]!);
    await expect(fetchLayer(300)).rejects.toThrow(
      /no byte came .*the network answers with a page of its own .*login\?/,
    );
  });

  test("what is there already stays when a page comes in the middle", async () => {
    const half = LAYER.length >> 1;
    answers = [
      (_, response) => {
        response.writeHead(200, { "Content-Length": LAYER.length }).write(LAYER.subarray(0, half));
        setTimeout(() => response.destroy(), 50);
      },
      PAGES["a page"]!,
      PAGES["HTTP 511"]!,
      (request, response) => {
        const [, start] = /bytes=(\d+)-/.exec(request.headers.range ?? "")!;
        const range = `bytes ${start}-${LAYER.length - 1}/${LAYER.length}`;
        response.writeHead(206, { "Content-Range": range }).end(LAYER.subarray(Number(start)));
      },
    ];
    const log = await fetchLayer();
    expect(log.drops).toBe(0);
    expect(log.received - LAYER.length).toBeLessThanOrEqual(2 * MAX_READ_BYTES);
  });

  test.each(["application/octet-stream", "binary/octet-stream", "application/x-gzip", "text/plain", undefined])(
    "a layer of the type %s is one",
    async (type) => {
      answers = [
        (_, response) =>
          response
            .writeHead(200, {
              ...(type !== undefined && { "Content-Type": type }),
              "Content-Encoding": "gzip",
              "Content-Length": LAYER.length,
            })
            .end(LAYER),
      ];
      expect(await fetchLayer()).toMatchObject({ received: LAYER.length, troubles: [] });
    },
  );
});
