import { Readable } from "node:stream";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { z } from "zod";
import { addFetched } from "../../../src/agent/files/fetched-contents.ts";
import { parseModems } from "../../../src/agent/host/modem-manager.ts";
import { parseConfig } from "../../../src/agent/config/load.ts";
import { parseAnswer } from "../../../src/agent/engine/docker/get.ts";
import { readJsonLines } from "../../../src/agent/engine/docker/json-lines.ts";
import { filterArchive } from "../../../src/agent/streams/archive-filter.ts";
import { readRecords } from "../../../src/control-plane/sims/read-records.ts";
import { ApiClient } from "../../../src/edgectl/api/client.ts";
import { parseStreamedEvent } from "../../../src/edgectl/api/deployments.ts";
import { requestOf } from "../../../src/edgectl/api/request.ts";
import { parseEnvFile } from "../../../src/edgectl/compose/env-file.ts";
import { parseAppFile } from "../../../src/edgectl/deploy/app-request.ts";
import { readAssetRows } from "../../../src/edgectl/documents/asset-rows.ts";
import { loadDocument } from "../../../src/edgectl/documents/load.ts";
import { Problems } from "../../../src/edgectl/documents/problems.ts";
import {
  type DirectoryEntry,
  MAX_DIRECTORY_ENTRIES,
  readDirectoryArchive,
  writeDirectoryArchive,
} from "../../../src/lib/directory-archive.ts";
import { parseRequest } from "../../../src/lib/release/messages.ts";
import { readRelease } from "../../../src/lib/release/read-release.ts";
import { unverifiedStatement } from "../../../src/lib/release/statement.ts";
import type { Disk } from "../../../src/updater/disk.ts";
import { unpack } from "../../../src/updater/unpack.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { tempDir } from "../temp-dir.ts";
import { each, type EntryPoint, type Input, jsonInputs } from "./entry-point.ts";

function clientOf(bytes: Buffer): ApiClient {
  return new ApiClient({
    baseUrl: "http://127.0.0.1",
    apiKey: undefined,
    fetch: () => Promise.resolve(new Response(bytes)),
    clock: systemClock,
    signal: new AbortController().signal,
  });
}

const lines = (line: (index: number) => string, count: number): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

function* yamlInputs(): Generator<Input> {
  const size = 1024 * 1024;
  const texts: Readonly<Record<string, string>> = {
    "lines of a list": "- \n".repeat(size / 3),
    "empty lists": `[${"[],".repeat(size / 3 - 1)}]`,
    "many keys": lines((index) => `k${index}: v`, 40_000),
    "keys of a flow map": `{${lines((index) => `k${index}: v`, 40_000).replaceAll("\n", ", ")}}`,
    anchors: lines((index) => `- &a${index} x`, 35_000),
    aliases: `a: &a 1\nb: [${"*a,".repeat(100_000)}]`,
    "deep nesting": "[".repeat(200_000),
    "deep maps": lines((index) => `${" ".repeat(index)}a:`, 1_400),
    comments: "#\n".repeat(size / 2),
    escapes: `"${String.raw`\u0041`.repeat(size / 6 - 1)}"`,
    "block texts": "- |\n a\n".repeat(50_000),
    "JSON of many objects": `[${"{},".repeat(60_000)}{}]`,
  };
  for (const [name, text] of Object.entries(texts)) yield { name, bytes: Buffer.from(text) };
}

function* envInputs(): Generator<Input> {
  const size = 256 * 1024;
  yield { name: "doubling variables", bytes: Buffer.from(`A=xx\n${"A=$A$A\n".repeat(size / 8)}`) };
  yield { name: "empty lines", bytes: Buffer.from("\n".repeat(size)) };
  yield { name: "names", bytes: Buffer.from("A\n".repeat(size / 2)) };
  yield { name: "open quotes", bytes: Buffer.from("A='\nB=\"\n".repeat(size / 8)) };
  yield { name: "spaces before a comment", bytes: Buffer.from(`A=${" ".repeat(size - 3)}#`) };
  yield { name: "braces", bytes: Buffer.from(`A=${"${A:-".repeat(size / 6)}`) };
  yield { name: "backslashes", bytes: Buffer.from(`A="${"\\".repeat(size - 4)}`) };
}

const octal = (value: number, length: number): string => `${value.toString(8).padStart(length, "0")}\0`;

/** A header of a tar archive (POSIX ustar). */
function tarHeader(type: string, size: number): Buffer {
  const block = Buffer.alloc(512);
  block.write("x", 0);
  block.write(octal(0o644, 7), 100);
  block.write(octal(size, 11), 124);
  // The checksum counts itself as spaces.
  block.write("        ", 148);
  block.write(type, 156);
  block.write("ustar", 257);
  block.write("00", 263);
  block.write(`${octal(sumOf(block), 6)} `, 148);
  return block;
}

const sumOf = (bytes: Buffer): number => bytes.reduce((sum, byte) => sum + byte, 0);

/** An archive of an empty file, with a header before it that has so much content. */
function withExtension(type: string, content: Buffer): Buffer {
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([tarHeader(type, content.length), content, padding, tarHeader("0", 0), Buffer.alloc(1024)]);
}

/** A record of an extended header (pax): its length, a name of its own, and a value. */
function paxRecord(index: number): string {
  const rest = ` ${index}=1\n`;
  return `${rest.length + String(rest.length + 2).length}${rest}`;
}

function* tarInputs(): Generator<Input> {
  const records = Array.from({ length: 300_000 }, (_, index) => paxRecord(index)).join("");
  yield {
    name: "extended headers of many records",
    bytes: withExtension("x", Buffer.from(records.slice(0, 4_000_000))),
  };
  yield { name: "the same at the limit", bytes: withExtension("x", Buffer.from(records.slice(0, 262_144))) };
  yield { name: "a long name of slashes", bytes: withExtension("L", Buffer.alloc(4_000_000, "a/")) };
  const directories = Array.from({ length: 8_000 }, () => tarHeader("5", 0));
  yield { name: "many headers", bytes: Buffer.concat([...directories, Buffer.alloc(1024)]) };
}

/** Takes everything, and keeps nothing. */
const NO_DISK: Disk = {
  makeFolder: () => undefined,
  create: () => ({ write: () => undefined, sync: () => undefined, [Symbol.dispose]: () => undefined }),
  link: () => undefined,
  share: () => true,
  rename: () => undefined,
  remove: () => undefined,
  sync: () => undefined,
  freeBytes: () => 0,
};

function* releaseInputs(): Generator<Input> {
  for (const { name, bytes } of tarInputs()) yield { name, bytes: zstdCompressSync(bytes) };
  yield { name: "zeros that unpack to much", bytes: zstdCompressSync(Buffer.alloc(256 * 1024 * 1024)) };
}

const page = z.looseObject({ assets: z.array(z.looseObject({ uuid: z.string(), name: z.string() })) });

function directoryArchive(path: (index: number) => string): Buffer {
  const entries = Array.from({ length: MAX_DIRECTORY_ENTRIES }, (_, index): DirectoryEntry => {
    return { path: path(index), mode: 0o444, content: new Uint8Array() };
  });
  return writeDirectoryArchive(entries);
}

function* directoryInputs(): Generator<Input> {
  yield* tarInputs();
  yield { name: "many files", bytes: directoryArchive(String) };
  yield { name: "many deep files", bytes: directoryArchive((index) => `${"a/".repeat(14)}${index}`) };
  yield {
    name: "many files in folders of their own",
    bytes: directoryArchive((index) => `${index}${"/a".repeat(14)}`),
  };
  yield { name: "deeper than is allowed", bytes: directoryArchive((index) => `${"a/".repeat(48)}${index}`) };
  yield { name: "zeros", bytes: Buffer.alloc(16 * 1024 * 1024) };
}

/** What files, archives, the engine and, to edgectl, the service bring. */
export const FILE_ENTRY_POINTS: readonly EntryPoint[] = [
  {
    name: "responses of the service, in edgectl",
    from: "service",
    files: [
      "src/edgectl/api/client.ts",
      "src/edgectl/api/service-failure.ts",
      "src/edgectl/api/deployments.ts",
      "src/edgectl/api/event-stream.ts",
    ],
    inputs: () => jsonInputs("response", [['{"assets":', "}"]]),
    run: (bytes) => clientOf(bytes).json(requestOf("GET /v1/assets"), page),
  },
  {
    name: "an event of the service, in edgectl",
    from: "service",
    files: ["src/edgectl/api/deployments.ts"],
    inputs: () => jsonInputs("frame", [['{"status":"Running","details":', "}"]]),
    run: (bytes) => parseStreamedEvent(bytes.toString()),
  },
  {
    name: "compose and edge files",
    from: "file",
    files: ["src/edgectl/documents/load.ts"],
    inputs: yamlInputs,
    run: (bytes) => loadDocument(bytes.toString(), new Problems("f")),
  },
  {
    name: "assets to register",
    from: "file",
    files: ["src/edgectl/documents/asset-rows.ts"],
    inputs: () =>
      Object.entries({
        "empty cells": ",".repeat(1024 * 1024),
        "empty cells below a header": `serial_number\n${",".repeat(1024 * 1023)}`,
        "many rows": `serial_number\n${"a\n".repeat(512 * 1023)}`,
        "rows that are not valid": `serial_number,tags\n${"?,?\n".repeat(9_999)}`,
        "many tags": `serial_number,tags\na,${"a=b ".repeat(4_000)}`,
        "an open quote": `serial_number\n"${"a,".repeat(512 * 1023)}`,
        "a header that is none": `${"serial_number ".repeat(74_000)}:`,
      }).map(([name, text]) => ({ name, bytes: Buffer.from(text) })),
    // By its name it is CSV; on standard input the header tells.
    run: (bytes) => each(["assets.csv", "standard input"], (fileName) => readAssetRows(bytes.toString(), fileName)),
  },
  {
    name: "env files",
    from: "file",
    files: ["src/edgectl/compose/env-file.ts"],
    inputs: envInputs,
    run: (bytes) => parseEnvFile(bytes.toString(), () => undefined, new Problems("f")),
  },
  {
    name: "JSON files",
    from: "file",
    files: [
      "src/edgectl/deploy/app-request.ts",
      "src/edgectl/group-file/read-group.ts",
      "src/edgectl/config/config-file.ts",
      "src/lib/registry/docker-logins.ts",
      "src/lib/registry/credential-helper.ts",
      "src/agent/config/load.ts",
      "src/agent/config/socket-path.ts",
      "src/agent/cli/read-json.ts",
      "src/agent/enrolment/new-config.ts",
      "src/agent/telemetry/take-readings.ts",
      "src/agent/host/modem-manager.ts",
      "src/control-plane/config/load-config.ts",
    ],
    inputs: () =>
      jsonInputs("file", [
        ['{"x":', "}"],
        ['{"registries":', "}"],
        ['{"data":[{"x":', "}]}"],
      ]),
    run: (bytes) => each([parseConfig, parseAppFile, parseModems], (parse) => parse(bytes.toString(), "f")),
  },
  {
    name: "archives copied to an app",
    from: "client",
    files: [
      "src/agent/streams/archive-filter.ts",
      "src/lib/bounded-tar-headers.ts",
      "src/agent/engine/docker/container-archive.ts",
      "src/edgectl/streams/download.ts",
      "src/edgectl/images/tar-files.ts",
    ],
    inputs: tarInputs,
    run: (bytes) =>
      new Promise<void>((resolve) => {
        const read = async (): Promise<void> => {
          for await (const _ of await filterArchive(Readable.from(bytes, { objectMode: false }), () => resolve()));
          resolve();
        };
        // What is not passed on ends with an error.
        read().catch(() => resolve());
      }),
  },
  {
    name: "documents of a release of the agent, and requests to its updater",
    from: "image",
    files: ["src/lib/release/fields.ts"],
    inputs: () =>
      jsonInputs("short", [
        ['{"manifests":', "}"],
        ['{"payloadType":"application/vnd.edge-agent.release.v1+json","payload":"","signatures":', "}"],
      ]),
    run: (bytes) =>
      each(
        [unverifiedStatement, parseRequest, (json: Buffer) => readRelease(() => json, unverifiedStatement, "amd64")],
        (read) => read(bytes),
      ),
  },
  {
    name: "the archive of a directory that comes with an app",
    from: "control plane",
    files: ["src/lib/directory-archive.ts"],
    inputs: directoryInputs,
    run: (bytes) => readDirectoryArchive(bytes),
  },
  {
    name: "a content that the device has fetched",
    from: "control plane",
    files: ["src/agent/files/fetched-contents.ts"],
    inputs: () => [
      { name: "64 MiB in 64 KiB", bytes: gzipSync(Buffer.alloc(64 * 1024 * 1024)) },
      { name: "many empty members", bytes: Buffer.concat(Array(50_000).fill(gzipSync(Buffer.alloc(0)))) },
    ],
    run: async (bytes) => {
      await using folder = await tempDir();
      const identity = { sha256: "0".repeat(64), size: 4 * 1024 * 1024 };
      const packed = Readable.from(bytes, { objectMode: false });
      await addFetched(folder.path, identity, packed, new AbortController().signal).catch(() => undefined);
    },
  },
  {
    name: "the archive of a release of the agent",
    from: "image",
    files: ["src/updater/unpack.ts"],
    inputs: releaseInputs,
    run: (bytes) =>
      unpack(bytes, { diffId: "", unpackedBytes: 1024 * 1024 }, "/nowhere", NO_DISK).catch(() => undefined),
  },
  {
    name: "usage records",
    from: "file",
    files: ["src/control-plane/sims/read-records.ts"],
    inputs: () => [
      { name: "a long line", bytes: Buffer.alloc(4 * 1024 * 1024, "a") },
      { name: "an open quote", bytes: Buffer.from(`"${"a,".repeat(1024 * 1024)}`) },
      { name: "empty cells", bytes: Buffer.alloc(4 * 1024 * 1024, ",") },
    ],
    run: async (bytes) => {
      for await (const _ of readRecords(Readable.from(bytes, { objectMode: false }), 0));
    },
  },
  {
    name: "answers of the engine",
    from: "engine",
    files: ["src/agent/engine/docker/get.ts"],
    inputs: () => jsonInputs("engine", [['{"Id":"","Config":{"Labels":', "}}"]]),
    run: parseAnswer,
  },
  {
    name: "messages of the engine",
    from: "engine",
    files: ["src/agent/engine/docker/json-lines.ts", "src/agent/engine/docker/container-access.ts"],
    inputs: () => jsonInputs("frame", [['{"status":', "}"]]),
    run: async (bytes) => {
      for await (const _ of readJsonLines(Readable.from(bytes, { objectMode: false })));
    },
  },
];
