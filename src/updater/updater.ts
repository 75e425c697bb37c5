import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../lib/error-text.ts";
import { readDescription } from "../lib/release/description.ts";
import { Fields } from "../lib/release/fields.ts";
import { findObstacle } from "../lib/release/judge.ts";
import {
  type ChosenLayer,
  chooseLayers,
  type LayerRecord,
  MIN_FREE_BYTES,
  stayingVersions,
  writtenBytes,
} from "../lib/release/held-layers.ts";
import { parseRequest, type UpdateAnswer, type UpdateRequest } from "../lib/release/messages.ts";
import { ANSWER_FILE } from "../lib/release/paths.ts";
import { readLayer, readRelease, type Release, unpackedBytesOf } from "../lib/release/read-release.ts";
import { ReleaseError } from "../lib/release/release-error.ts";
import { isExecutable, TRIAL_TICK_S, versionToStart } from "../lib/release/releases-state.ts";
import { keysFolder, readTrustedKeys } from "../lib/release/trusted-keys.ts";
import { verifiedStatement } from "../lib/release/statement.ts";
import type { Disk } from "./disk.ts";
import { Handover } from "./handover.ts";
import { Releases } from "./releases.ts";
import { takeOver, unpack } from "./unpack.ts";

const MAX_UNPACKED_BYTES = 512 * 1024 * 1024;
const DEFAULT_TRIAL_S = 900;
const MIN_TRIAL_S = TRIAL_TICK_S;
const MAX_TRIAL_S = 86_400;

export interface UpdaterOptions {
  /** The agent's state directory. */
  readonly stateFolder: string;
  readonly releasesFolder: string;
  readonly packageFolder: string;
  readonly configFile: string;
  /** OCI's name of this machine's. */
  readonly architecture: string;
  /** The user that alone may write versions and keys: root, but in tests. */
  readonly owner: number;
  readonly disk: Disk;
}

type Answer = UpdateAnswer & { readonly ok: boolean };

/** Carries out the request that lies in the agent's state directory, and stores the answer beside the releases. */
export async function handleRequest(options: UpdaterOptions): Promise<Answer> {
  const releases = new Releases(options.releasesFolder, options.disk);
  const answer = await carryOut(options, releases);
  releases.answer(ANSWER_FILE, JSON.stringify(answer));
  return answer;
}

async function carryOut(options: UpdaterOptions, releases: Releases): Promise<Answer> {
  let id = "";
  try {
    using handover = new Handover(options.stateFolder);
    const request = parseRequest(handover.readRequest());
    id = request.id;
    if (request.action === "install") {
      const version = await install(options, { releases, handover, request });
      return { id, ok: true, version };
    }
    const { action, version } = request;
    return { id, ok: true, version: action === "confirm" ? confirm(releases, version) : abandon(releases, version) };
  } catch (error) {
    const code = error instanceof ReleaseError ? error.code : "failed";
    return { id, ok: false, code, message: errorText(error) };
  }
}

function confirm(releases: Releases, version: string): string {
  const { trial, current } = releases.read();
  // Asked again, after a kill before the answer.
  if (trial === undefined && current === version) return version;
  if (trial?.version !== version) throw new ReleaseError("not_on_trial", `release ${version} is not on trial`);
  // Root has counted no start: who asks is another process of the agent's user.
  if (trial.starts === 0) throw new ReleaseError("not_on_trial", `release ${version} has not been started yet`);
  releases.confirmTrial(version);
  return version;
}

function abandon(releases: Releases, version: string): string {
  const { trial, setAside } = releases.read();
  // Asked again, after a kill before the answer.
  if (!trial && setAside.has(version)) return version;
  if (trial?.version !== version) throw new ReleaseError("not_on_trial", `release ${version} is not on trial`);
  releases.abandonTrial(trial);
  return version;
}

interface Install {
  readonly releases: Releases;
  readonly handover: Handover;
  readonly request: Extract<UpdateRequest, { action: "install" }>;
}

async function install(options: UpdaterOptions, { releases, handover, request }: Install): Promise<string> {
  const { architecture, releasesFolder, packageFolder, disk } = options;
  const keys = readTrustedKeys(keysFolder(options), options.owner);
  const release = readRelease(handover.readFile, (envelope) => verifiedStatement(envelope, keys), architecture);
  const { version, index, floor } = release.statement;
  const state = releases.read();
  const { mayDowngrade, trialS } = readSettings(options.configFile);
  const obstacle = findObstacle({
    statement: release.statement,
    running: readRunning(options, versionToStart(releasesFolder, state)),
    state,
    request,
    mayDowngrade,
  });
  if (obstacle) throw obstacle;
  releases.prune();
  if (unpackedBytesOf(release.layers) > MAX_UNPACKED_BYTES)
    throw new ReleaseError("malformed", `the release has more than ${MAX_UNPACKED_BYTES} bytes`);
  const layers = await chooseLayers(release.layers, stayingVersions(options, releases.read()));
  requireSpace(options, release, layers);
  try {
    await releases.add({ version, floor, index }, release.statement.keys, async (folder) => {
      const records: LayerRecord[] = [];
      // A release shares what another one has. What is the package's is copied, so that neither depends on the other.
      // One after the other: each is in memory as a whole, so that what was checked is what is unpacked.
      for (const { layer, held } of layers)
        records.push(
          held
            ? takeOver(held, folder, { disk, isShared: held.folder !== packageFolder })
            : await unpack(readLayer(handover.readFile, layer), layer, folder, disk),
        );
      return records;
    });
  } catch (error) {
    releases.discard();
    throw error;
  }
  if (!["edge-agent", "node"].every((name) => isExecutable(join(releasesFolder, version, name))))
    throw new ReleaseError(
      "not_executable",
      `the programs of release ${version} cannot be executed in ${releasesFolder}`,
    );
  const attempt = (state.setAside.get(version)?.attempt ?? 0) + 1;
  const { id, deployment } = request;
  releases.beginTrial(version, {
    attempt,
    maxTicks: Math.ceil(trialS / TRIAL_TICK_S),
    deployment: deployment === undefined ? undefined : { id: deployment, request: id },
  });
  return version;
}

function requireSpace(
  { releasesFolder, packageFolder, disk }: UpdaterOptions,
  { statement: { version } }: Release,
  layers: readonly ChosenLayer[],
): void {
  const required = writtenBytes(layers, packageFolder) + MIN_FREE_BYTES;
  const free = disk.freeBytes(releasesFolder);
  if (free >= required) return;
  throw new ReleaseError(
    "insufficient_disk",
    `release ${version} needs ${required} bytes of disk, and ${free} are free`,
  );
}

/** Reads what is known about the version that runs. */
function readRunning(
  { packageFolder, releasesFolder }: Pick<UpdaterOptions, "packageFolder" | "releasesFolder">,
  chosen: string,
): { readonly version: string; readonly floor: string } {
  return readDescription(chosen === "package" ? packageFolder : join(releasesFolder, chosen));
}

/** Reads what the device's owner has configured. An unreadable configuration allows nothing beyond the defaults. */
function readSettings(path: string): { readonly mayDowngrade: boolean; readonly trialS: number } {
  try {
    const config = Fields.parse("the configuration", readFileSync(path), "file");
    const settings = config.has("agent_updates") ? config.object("agent_updates") : new Fields("agent_updates", {});
    const trialS = settings.has("trial_s") ? settings.count("trial_s") : DEFAULT_TRIAL_S;
    return {
      mayDowngrade: settings.flag("downgrade"),
      trialS: Math.min(MAX_TRIAL_S, Math.max(MIN_TRIAL_S, trialS)),
    };
  } catch {
    return { mayDowngrade: false, trialS: DEFAULT_TRIAL_S };
  }
}
