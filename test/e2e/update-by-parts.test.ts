import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { plainClient } from "../support/download/layer-rig.ts";
import { engineRequest, sleeperImage, uniqueName } from "../support/images.ts";
import { buildImage, type Image, type ImageConfig } from "../support/images/image.ts";
import { pushIndex, type PushedIndex } from "../support/images/push-index.ts";
import { versionedImage } from "../support/images/versioned-image.ts";
import { LossyLink } from "../support/link/lossy-link.ts";
import { Registry } from "../support/registry.ts";
import { FaultyRegistry } from "../support/registry/faulty-registry.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { UnsyncedFiles } from "../support/system/unsynced-files.ts";
import { inMegabytes, UpdateTranscript } from "../support/system/update-transcript.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * An update over a link that is cut every megabyte, with two power cuts. With `UPDATE_TRANSCRIPT=1` it prints what happens.
 */

const FILES = 11_000;
const NEW_BYTES = 6_900_000;
const CUT_EVERY = 1_000_000;
const LINK = { cutAfter: CUT_EVERY, bytesPerSecond: 1_000_000 };
/** How much has come when the power fails at the worst moment, and what is left of that which was not synced. */
const POWER_CUTS = [
  { after: 2_000_000, rest: "nothing" },
  { after: 4_500_000, rest: "torn" },
] as const;
/** The agent syncs a mebibyte at least. */
const WORST_UNSYNCED = 900_000;
const STEP_BYTES = 16 * 1024;
/** What is between the link and a file when the agent is killed: in the socket, and in its buffers. */
const IN_FLIGHT = 256 * 1024;

const seed = uniqueName("seed");
const repository = `${uniqueName("team")}/app`;

/** An app that runs, with many files. */
async function appImage(version: number): Promise<Image> {
  const runs = await sleeperImage(String(version));
  const files = await versionedImage({ seed, version, files: FILES, newBytes: NEW_BYTES });
  const { config } = JSON.parse(runs.config.toString()) as { config: ImageConfig };
  return buildImage([...runs.layers, ...files.layers], config);
}

async function pushIndexOf(registry: Registry, reference: string, image: Image): Promise<PushedIndex> {
  const { architecture } = JSON.parse(image.config.toString()) as { architecture: string };
  const platform = { os: "linux", architecture };
  const resolved = await plainClient().resolve(reference, platform, undefined, AbortSignal.timeout(240_000));
  const { digest, mediaType, manifest } = resolved;
  return await pushIndex(`http://${registry.host}`, repository, { digest, mediaType, size: manifest.length }, image);
}

const owned = new AsyncDisposableStack();
let registry: Registry;
let watched: FaultyRegistry;
let files: UnsyncedFiles;
beforeAll(async () => {
  registry = owned.use(await Registry.start());
  watched = owned.use(await FaultyRegistry.before(registry.port));
});
afterAll(() => owned.disposeAsync());

describe("an update of which the device has most contents", () => {
  const system = sharedSystem(async (systemOwned) => {
    files = systemOwned.use(await UnsyncedFiles.watch());
    return { agentWrapper: files.wrapper };
  });

  test("costs what changed, over a link that is cut every 1 MB, with two power cuts", async () => {
    await using link = await LossyLink.to(watched.port);
    const [first, second] = [await appImage(1), await appImage(2)];
    const name = system().name();
    const reference = (image: string): string => system().removeImageLater(image.replace(registry.host, link.host));
    const old = reference(await registry.push(first, `${repository}:1`));
    expect((await system().deploy({ name, image: old })).final.status).toBe("Success");
    const pushed = await registry.push(second, `${repository}:2`);
    const { packs, indexBytes } = await pushIndexOf(registry, pushed, second);
    const image = reference(pushed);

    const whole = second.layers.slice(1).reduce((sum, { compressed }) => sum + compressed.length, 0);
    const blobs = new Map([
      ...packs.map(({ digest }) => [digest, "pack"] as const),
      ...second.layers.map(({ digest }) => [digest, "layer"] as const),
      [second.id, "configuration"] as const,
    ]);
    link.conditions = LINK;
    link.received = 0;
    const transcript = new UpdateTranscript(() => link.received);
    // No content is sent before the price is known: otherwise this would wait for ever.
    const priced = Promise.withResolvers<void>();
    watched.fault = ({ path }) => {
      const blob = blobs.get(path.slice(path.lastIndexOf("sha256:"))) ?? "index";
      transcript.requested(blob);
      return blob === "pack" || blob === "layer" ? { kind: "wait", until: priced.promise } : undefined;
    };
    link.onCut = () => transcript.add(`the link is cut (${link.cuts})`);

    transcript.add(`update to an image with ${inMegabytes(whole)} of new layers, of an app of ${FILES} files`);
    const stream = await system().open({ name: system().name(), image });
    const { message, details } = await stream.event("a price", (event) => "reused_bytes" in (event.details ?? {}));
    const price = Number(details?.["download_bytes"]);
    transcript.add(`event: ${message}`);
    expect(message).toMatch(/[\d.]+ MB to download, .* of [\d.]+ MB are already here/);
    priced.resolve();
    let lost = 0;
    for (const [index, { after, rest }] of POWER_CUTS.entries()) {
      const { stateDir } = system().agent;
      const isWorst = (): boolean => link.received > after && files.unsyncedIn(stateDir) > WORST_UNSYNCED;
      // In small steps, between which the link stands still: the moment is over with the next sync.
      for (let at = after; !isWorst(); at = link.received + STEP_BYTES) {
        link.conditions = { ...LINK, holdAt: at };
        await waitFor("the next bytes", () => link.received >= at, { intervalMs: 5 });
      }
      await system().agent.kill();
      const loss = files.loseIn(stateDir, rest);
      transcript.add(
        `POWER CUT ${index + 1}: the agent is killed; ${inMegabytes(loss.lost)} were not synced and are lost ` +
          `(${rest}), ${inMegabytes(loss.kept)} stay`,
      );
      lost += loss.lost;
      // A mebibyte, or what comes in a second, and what comes while that is synced.
      expect(loss.lost).toBeLessThan(3 * 1024 * 1024);
      await system().agent.start();
      transcript.add("the agent is online again");
    }
    link.conditions = LINK;
    const { final } = await system().finish(stream);
    transcript.add(`event: ${final.status}: ${final.message}`);
    const { body } = await engineRequest(system().engineSocket, "GET", `/images/${image}/json`);
    const { Id: id } = JSON.parse(body) as { Id: string };
    const inSum = link.received;
    transcript.add(`price ${inMegabytes(price)}, its index ${inMegabytes(indexBytes)}, lost ${inMegabytes(lost)}`);
    transcript.add(`image on the device: ${id}${id === second.id ? ", as in the registry" : ""}`);
    if (process.env["UPDATE_TRANSCRIPT"]) console.info(transcript.toString());

    expect(final.status).toBe("Success");
    expect(id).toBe(second.id);
    expect(price).toBeGreaterThan(NEW_BYTES);
    expect(price).toBeLessThan(whole / 5);
    // A power cut ends a connection too.
    expect(link.cuts).toBeGreaterThan(inSum / CUT_EVERY - POWER_CUTS.length - 1);
    const unavoidable = indexBytes + lost + POWER_CUTS.length * IN_FLIGHT;
    expect(inSum).toBeLessThan(price * 1.02 + unavoidable);
    expect(inSum).toBeLessThan(whole / 3);
    const left = await readdir(join(system().agent.stateDir, "downloads"));
    expect(left.filter((file) => !file.endsWith(".json"))).toEqual([]);
  });
});
