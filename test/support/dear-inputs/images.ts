import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { zstdCompressSync } from "node:zlib";
import { parseConfiguration, parseManifest } from "../../../src/agent/registry/manifest.ts";
import { configSchema, parseDocument, writableIndexSchema } from "../../../src/edgectl/registry/documents.ts";
import { registryErrors } from "../../../src/edgectl/registry/failures.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { INDEX_MAGIC } from "../../../src/lib/layer-parts/layer-index/format.ts";
import { readLayerIndex } from "../../../src/lib/layer-parts/layer-index/read-index.ts";
import { LAYOUT_LIMITS } from "../../../src/lib/layer-parts/limits.ts";
import { readZstdChunked } from "../../../src/lib/layer-parts/zstd-chunked/layout.ts";
import { findZstdChunked } from "../../../src/lib/layer-parts/zstd-chunked/place.ts";
import { Authorizer } from "../../../src/lib/registry/authorizer.ts";
import { parseChallenges } from "../../../src/lib/registry/challenge.ts";
import { artifactSchema, imageSchema, indexSchema, referrersSchema } from "../../../src/lib/registry/documents.ts";
import type { FollowedResponse } from "../../../src/lib/registry/http.ts";
import { each, type EntryPoint, type Frame, type Input, jsonInputs } from "./entry-point.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const DESCRIPTOR = `{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"${DIGEST}","size":1}`;
const REGISTRY = new URL("https://registry.example.com/v2/");

/** Answers the challenge of a registry with a token server that sends the bytes. */
async function readToken(bytes: Buffer): Promise<void> {
  const refusal: FollowedResponse = {
    status: 401,
    headers: { "www-authenticate": `Bearer realm="${REGISTRY.origin}/token"` },
    body: Readable.from([]),
    url: REGISTRY,
    isCrossOrigin: false,
  };
  const authorizer = new Authorizer<FollowedResponse>({
    clock: systemClock,
    clientId: "test",
    errors: registryErrors,
    tokenServers: {
      rules: () => ({ mayBePlain: false }),
      send: async () => ({ status: 200, headers: {}, body: Readable.from([bytes]), url: REGISTRY }),
    },
  });
  const access = { registry: REGISTRY.host, repository: "a", login: undefined };
  await authorizer.send(access, async () => refusal, new AbortController().signal);
}

const PREFIX = "io.github.containers.zstd-chunked.";

/** Reads tables of a zstd:chunked layer that say nothing true of a layer. The tables come packed, one behind the other. */
async function readTables(toc: Buffer, tarSplit: Buffer): Promise<void> {
  const split = zstdCompressSync(tarSplit);
  const digest = createHash("sha256").update(split).digest("hex");
  const table = Buffer.from(toc.toString().replace("SPLIT", `sha256:${digest}`));
  const packed = zstdCompressSync(table);
  const size = packed.length + split.length;
  const annotations = {
    [`${PREFIX}manifest-checksum`]: `sha256:${createHash("sha256").update(packed).digest("hex")}`,
    [`${PREFIX}manifest-position`]: `0:${packed.length}:${table.length}:1`,
    [`${PREFIX}tarsplit-position`]: `${packed.length}:${split.length}:${tarSplit.length}`,
  };
  const place = findZstdChunked(annotations, size);
  if (place) await readZstdChunked(place, Buffer.concat([packed, split]), DIGEST);
}

const EMPTY_TOC = Buffer.from('{"version":1,"tarSplitDigest":"SPLIT","entries":[]}');

/** Lines or entries up to so many bytes unpacked: less than the limit, so that the work stays small here. */
const UNPACKED_BYTES = 2 * 1024 * 1024;
const many = (unit: string): string => unit.repeat(Math.floor(UNPACKED_BYTES / unit.length));

function* tarSplitInputs(): Generator<Input> {
  yield* jsonInputs("tar_split_line", [['{"type":1,"x":', "}\n"]]);
  yield { name: "the smallest lines", bytes: Buffer.from(many('{"type":1}\n')) };
  yield { name: "lines of segments", bytes: Buffer.from(many('{"type":2,"payload":""}\n')) };
}

const tableOf = (entries: string): Buffer =>
  Buffer.from(`{"version":1,"tarSplitDigest":"SPLIT","entries":[${entries.slice(0, -1)}]}`);

function* tocInputs(): Generator<Input> {
  const frames: Frame[] = [
    ['{"version":1,"tarSplitDigest":"SPLIT","entries":[{"type":"dir","name":"a","x":', "}]}"],
    ['{"version":1,"tarSplitDigest":"SPLIT","x":', ',"entries":[]}'],
  ];
  yield* jsonInputs("toc_entry", frames);
  const size = 1024 * 1024;
  const braces = '{"name":"}}}}}}"},';
  yield {
    name: "braces in texts of entries",
    bytes: Buffer.from(`{"entries":[${braces.repeat(size / braces.length)}{}]}`),
  };
  yield { name: "objects behind what is none", bytes: Buffer.from(`{"entries":[x${"{}".repeat(size / 2)}]}`) };
  yield { name: "the smallest entries", bytes: tableOf(many("1,")) };
  yield { name: "directories", bytes: tableOf(many('{"type":"dir","name":""},')) };
  const file = `{"type":"reg","name":"","size":9000000,"digest":"${DIGEST}","offset":0,"endOffset":0},`;
  const chunk = `{"type":"chunk","offset":0,"chunkSize":1,"x":[${"{},".repeat(900)}{}]},`;
  yield { name: "chunks of one file that have more than is read", bytes: tableOf(file + many(chunk)) };
}

function* indexInputs(): Generator<Input> {
  yield { name: "zeros up to the limit", bytes: packedIndex(Buffer.alloc(LAYOUT_LIMITS.maxTableBytes)) };
  yield { name: "more zeros", bytes: packedIndex(Buffer.alloc(LAYOUT_LIMITS.maxTableBytes * 8)) };
  yield { name: "ones up to the limit", bytes: packedIndex(Buffer.alloc(LAYOUT_LIMITS.maxTableBytes, 1)) };
}

const packedIndex = (table: Buffer): Buffer => Buffer.concat([INDEX_MAGIC, zstdCompressSync(table)]);

function* challengeInputs(): Generator<Input> {
  const size = 8_192;
  yield { name: "schemes", bytes: Buffer.from("a,".repeat(size / 2)) };
  yield {
    name: "parameters",
    bytes: Buffer.from(`Bearer ${Array.from({ length: 1_000 }, (_, index) => `p${index}=1`).join()}`),
  };
  yield { name: "spaces", bytes: Buffer.from(`Bearer${" ".repeat(size - 7)}`) };
  yield { name: "an open quote", bytes: Buffer.from(`Bearer realm="${String.raw`\"`.repeat(4_000)}`) };
  yield { name: "commas", bytes: Buffer.from(",".repeat(size)) };
}

/** What registries, token services and images send. */
export const IMAGE_ENTRY_POINTS: readonly EntryPoint[] = [
  {
    name: "manifest or index",
    from: "registry",
    files: [
      "src/agent/registry/manifest.ts",
      "src/agent/download/layer-refs.ts",
      "src/agent/download/by-parts/engine-manifest.ts",
    ],
    inputs: () =>
      jsonInputs("registry", [
        ['{"schemaVersion":2,"x":', "}"],
        [`{"config":${DESCRIPTOR},"layers":`, "}"],
        [`{"config":${DESCRIPTOR},"layers":[{"mediaType":"t","digest":"${DIGEST}","size":1,"annotations":`, "}]}"],
        ['{"manifests":', "}"],
      ]),
    run: (bytes) => parseManifest(bytes, undefined),
  },
  {
    name: "image configuration",
    from: "image",
    files: ["src/agent/registry/manifest.ts"],
    inputs: () => jsonInputs("registry", [['{"architecture":"amd64","rootfs":{"diff_ids":', "}}"]]),
    run: (bytes) => parseConfiguration(bytes),
  },
  {
    name: "referrers and artifact",
    from: "registry",
    files: ["src/lib/registry/find-artifact.ts"],
    inputs: () =>
      jsonInputs("registry", [
        ['{"manifests":', "}"],
        [`{"subject":{"digest":"${DIGEST}"},"layers":`, "}"],
      ]),
    run: (bytes) =>
      each([referrersSchema, artifactSchema, writableIndexSchema], (schema) => schema.safeParse(parseDocument(bytes))),
  },
  {
    name: "documents of an image, in edgectl",
    from: "registry",
    files: ["src/edgectl/registry/documents.ts"],
    inputs: () =>
      jsonInputs("registry", [
        ['{"manifests":', "}"],
        [`{"config":${DESCRIPTOR},"layers":`, "}"],
        ['{"history":', "}"],
      ]),
    run: (bytes) => each([indexSchema, imageSchema, configSchema], (schema) => schema.safeParse(parseDocument(bytes))),
  },
  {
    name: "token",
    from: "token service",
    files: [
      "src/lib/registry/authorizer.ts",
      "src/agent/registry/to-registry-error.ts",
      "src/edgectl/registry/failures.ts",
      "src/agent/enrolment/exchange.ts",
    ],
    inputs: () =>
      jsonInputs("short", [
        ['{"token":', "}"],
        ['{"errors":', "}"],
      ]),
    run: readToken,
  },
  {
    name: "WWW-Authenticate",
    from: "registry",
    files: ["src/lib/registry/challenge.ts"],
    inputs: challengeInputs,
    run: (bytes) => parseChallenges(bytes.toString()),
  },
  {
    name: "tar-split data",
    from: "image",
    files: ["src/lib/layer-parts/zstd-chunked/tar-split.ts", "src/lib/layer-parts/unpack.ts"],
    inputs: tarSplitInputs,
    run: (bytes) => readTables(EMPTY_TOC, bytes),
  },
  {
    name: "table of contents",
    from: "image",
    files: ["src/lib/layer-parts/json-values.ts", "src/lib/layer-parts/zstd-chunked/toc.ts"],
    inputs: tocInputs,
    run: (bytes) => readTables(bytes, Buffer.from('{"type":1}\n')),
  },
  {
    name: "index of a layer",
    from: "index",
    files: ["src/lib/layer-parts/layer-index/read-index.ts"],
    inputs: indexInputs,
    run: (bytes) => readLayerIndex(bytes, { diffId: `sha256:${"0".repeat(64)}`, packSize: 2 ** 40 }),
  },
];
