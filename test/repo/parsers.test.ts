import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ENTRY_POINTS } from "../support/dear-inputs/entry-points.ts";
import { sourceFiles } from "../support/repo/files.ts";

/** What turns bytes of somebody else into values, or into more bytes. */
const PARSER =
  /\bJSON\.parse\(|\bparse(?:Bounded)?Json\(|\brequireBoundedJson\(|\bfrom "(?:yaml|csv-parse(?:\/sync)?)"|\b(?:create)?(?:Gunzip|Unzip|Inflate|BrotliDecompress|ZstdDecompress)\(|\b(?:gunzip|unzip|inflate|brotliDecompress|zstdDecompress)(?:Sync)?\(|\bimport\("tar-stream"\)|\bfrom "tar-stream"|\bresponse\.(?:json|text|arrayBuffer)\(/;

/** The parser itself, and what reads on what it has bounded. */
const BOUNDED: ReadonlySet<string> = new Set([
  "src/protocol/values/bounded-json.ts",
  "src/protocol/values/field-names.ts",
  "src/lib/parse-json.ts",
]);

/**
 * Files that read what this program itself, or the same person's, has written: bounded when it came in. A pattern of folders
 * ends with a slash.
 */
const OWN: Readonly<Record<string, string>> = {
  "src/agent/cli/as-service.ts": "what this program, started again by itself, is told and tells",
  "src/agent/store/": "rows of the agent's own store",
  "src/agent/cleanup/pulled-images.ts": "a record in the agent's own store",
  "src/agent/link/keepalive-interval.ts": "a record in the agent's own store",
  "src/agent/download/pull-records.ts": "the agent's own file",
  "src/agent/download/by-parts/handed-layers.ts": "the agent's own file",
  "src/agent/telemetry/ring-file.ts": "the agent's own file, of a fixed size",
  "src/agent/enrolment/nonce.ts": "the agent's own file",
  "src/agent/local/client.ts": "responses of the agent on the same device, of which the socket's owner is root",
  "src/agent/support/archive.ts": "an archive that the agent writes",
  "src/lib/log/readable-line.ts": "lines of the agent's own log",
  "src/lib/logger.ts": "a line that is about to be logged",
  "src/lib/steady-clock.ts": "a mark in the own store of either side",
  "src/lib/terminal/sanitize.ts": "a copy of a value",
  "src/control-plane/store/": "rows of the service's own database, bounded when they were written",
  "src/control-plane/data/": "rows of the service's own database, and its own file",
  "src/control-plane/alerts/": "messages and channels in the service's own database",
  "src/control-plane/api/alerts/deliveries.ts": "messages in the service's own database",
  "src/control-plane/cli/alerts.ts": "messages in the service's own database",
  "src/control-plane/cli/alerts-settings.ts": "a file of the person who runs the command",
  "src/edgectl/commands/alerts.ts": "a file of the person who runs the command",
  "src/control-plane/fleets/price-asset.ts": "an event in the service's own database",
  "src/control-plane/fleets/revision-content.ts": "a revision in the service's own database",
  "src/control-plane/sim-operator/sealed-access.ts": "credentials in the service's own database",
  "src/control-plane/sim-operator/emnify/emnify-operator.ts": "a part of a token, which has no more than 64 KiB",
  "src/control-plane/api/docs/prune-components.ts": "a copy of a value",
  "src/control-plane/api/idempotent-requests.ts": "a response of the service, which it has encrypted itself",
  "src/edgectl/documents/file-content.ts":
    "a content that edgectl has packed, or the person in a file of their own, unpacked to a bound",
  "src/edgectl/streams/upload.ts": "an archive that edgectl writes",
  "src/console/": "responses of the service to its own page, and what the person types",
};

const files = sourceFiles("src").filter((path) => !BOUNDED.has(path));
const texts = new Map(await Promise.all(files.map(async (path) => [path, await readFile(path, "utf8")] as const)));
const parsing = files.filter((path) => PARSER.test(texts.get(path) ?? ""));
const measured = new Set(ENTRY_POINTS.flatMap((entryPoint) => entryPoint.files));
const isOwn = (path: string): boolean =>
  Object.keys(OWN).some((own) => (own.endsWith("/") ? path.startsWith(own) : path === own));

test("every parser is measured with dear inputs, or reads what this program has written", () => {
  expect(parsing.filter((path) => !measured.has(path) && !isOwn(path))).toEqual([]);
});

test("what is measured is not bounded by where it comes from", () => {
  const open = [...measured].filter((path) => /\bJSON\.parse\(/.test(texts.get(path) ?? ""));
  expect(open).toEqual([]);
});

test("the lists name files that are there", () => {
  expect([...measured].filter((path) => !texts.has(path))).toEqual([]);
  expect(Object.keys(OWN).filter((own) => !parsing.some((path) => path.startsWith(own)))).toEqual([]);
});

test("no schema takes apart an object that may have any fields", () => {
  expect(files.filter((path) => /record\(z\.string\(\), z\.unknown\(\)\)/.test(texts.get(path) ?? ""))).toEqual([]);
  // `.catch` makes an issue for each entry, and throws them away.
  expect(files.filter((path) => /record\([^;\n]*\)(?:\.optional\(\))?\.catch\(/.test(texts.get(path) ?? ""))).toEqual(
    [],
  );
});
