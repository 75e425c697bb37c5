import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Sender } from "../support/dear-inputs/entry-point.ts";
import { FILE_ENTRY_POINTS } from "../support/dear-inputs/files.ts";
import { IMAGE_ENTRY_POINTS } from "../support/dear-inputs/images.ts";
import { LINK_ENTRY_POINTS } from "../support/dear-inputs/links.ts";
import type { Measured } from "../support/dear-inputs/measure.ts";

const MIB = 1024 * 1024;

/** As the packages start the executables. */
const FLAGS = ["--expose-gc", "--max-semi-space-size=1"];

/** Growth of the memory while dear inputs come one after the other, and processor time without a turn of the event loop. */
interface Bound {
  readonly peakBytes: number;
  /** In multiples of what a plain document of 1 MiB takes to count and parse. */
  readonly longestStop: number;
}

/** Of 256 MiB in all. */
const AGENT: Bound = { peakBytes: 112 * MIB, longestStop: 25 };
/** With others to serve. */
const SERVICE: Bound = { peakBytes: 192 * MIB, longestStop: 30 };
/** A person waits for it and can end it, or has written the file. */
const COMMAND: Bound = { peakBytes: 512 * MIB, longestStop: 150 };

const BOUNDS: Readonly<Record<Sender, Bound>> = {
  registry: AGENT,
  "token service": AGENT,
  image: AGENT,
  index: AGENT,
  engine: AGENT,
  "control plane": AGENT,
  device: SERVICE,
  client: SERVICE,
  NATS: SERVICE,
  operator: SERVICE,
  "OIDC provider": SERVICE,
  service: COMMAND,
  file: COMMAND,
};

test.each([
  ["registries, token services and images", IMAGE_ENTRY_POINTS],
  ["devices, clients, instances, operators and identity providers", LINK_ENTRY_POINTS],
  ["files, archives, the engine and the service", FILE_ENTRY_POINTS],
])("nothing from %s costs more than its bounds say, whatever its bytes are", async (_from, entryPoints) => {
  const names = entryPoints.map(({ name }) => name);
  const args = [...FLAGS, "test/support/dear-inputs/main.ts", ...names];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: MIB });
  const lines = stdout.trim().split("\n");
  const measured = lines.map((line) => JSON.parse(line) as Measured);
  expect(measured.map(({ entryPoint }) => entryPoint)).toEqual(names);
  const excessive = measured.filter(({ from, peakBytes, longestStop }) => {
    return peakBytes > BOUNDS[from].peakBytes || longestStop > BOUNDS[from].longestStop;
  });
  expect(excessive).toEqual([]);
});
