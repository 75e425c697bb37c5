import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { enginePrefix } from "../../../src/agent/engine/engine-prefix.ts";
import { placeName } from "../../../src/agent/files/place.ts";
import type { AgentRig } from "../agent-rig.ts";
import type { Scenario } from "./scenario.ts";

/** What an agent must have on its device at the end of a scenario, and nothing more: networks, volumes, and files of apps. */
export function keptViolations(scenario: Scenario, rig: AgentRig, stateDir: string): string[] {
  const found: string[] = [];
  const expectSame = (is: unknown, should: unknown, what: string): void => {
    const [one, other] = [JSON.stringify(is), JSON.stringify(should)];
    if (one !== other) found.push(`${what}: ${one}, not ${other}`);
  };
  const prefix = enginePrefix(stateDir);
  const withPrefix = (name: string): string => (name === "" ? prefix : `${prefix}.${name}`);
  // The one that apps share, as long as there is an app.
  const {
    networks = scenario.remainingApps.length > 0 ? [""] : [],
    volumes = {},
    files = [],
    fetched = [],
  } = scenario.kept ?? {};
  expectSame(rig.engine.networks.names.toSorted(), networks.map(withPrefix).toSorted(), "networks");
  if (volumes !== "any") {
    const owners = rig.engine.volumes.names.map((name) => {
      const { owner } = rig.engine.volumes.look(name)!;
      return `${name} ${owner.uid}:${owner.gid}`;
    });
    const wanted = Object.entries(volumes).map(([name, owner]) => `${withPrefix(name)} ${owner}`);
    expectSame(owners.toSorted(), wanted.toSorted(), "volumes");
  }
  const apps = rig.store.apps().filter(({ spec }) => (spec.files ?? []).length > 0);
  const places = apps.map(({ deploymentId }) => placeName(deploymentId));
  expectSame(listNames(join(stateDir, "files")), places.toSorted(), "places of files");
  const placed = places.flatMap((place) => {
    const directory = join(stateDir, "files", place);
    return listNames(directory).map((name) => readFileSync(join(directory, name), "utf8"));
  });
  expectSame(placed.toSorted(), files.toSorted(), "placed files");
  // Of secrets the store has random ids; they go by the same rule.
  const stored = (scenario.contents ?? []).filter((content) => rig.store.fileContent(sha256(content)) !== undefined);
  const shared = files.filter((content) => scenario.contents?.includes(content));
  expectSame(stored.toSorted(), shared.toSorted(), "contents in the store");
  const onDisk = fetched.map(({ file, content }) => `${file.sha256}.${content.length}.bin`);
  expectSame(listNames(join(stateDir, "uploads")), onDisk.toSorted(), "contents that were fetched");
  const { uploads = [] } = scenario;
  const bytes = uploads.reduce((sum, { packed }) => sum + packed.length, 0);
  if (rig.uploads.paid > bytes) found.push(`${rig.uploads.paid} bytes were received, and all uploads have ${bytes}`);
  const given = new Set(fetched.map(({ sha256 }) => sha256));
  const left = rig.uploads.unfinished.filter((hash) => given.has(hash));
  if (left.length > 0) found.push(`downloads are left of what was fetched: ${left.join()}`);
  return found;
}

/** Paths of the files in the places of apps, and of those that were fetched. */
export function placedFiles(stateDir: string): string {
  const namesIn = (name: string): string => {
    try {
      return readdirSync(join(stateDir, name), { recursive: true }).join();
    } catch {
      return "";
    }
  };
  return `${namesIn("files")} ${namesIn("uploads")}`;
}

function listNames(directory: string): string[] {
  try {
    return readdirSync(directory).toSorted();
  } catch {
    return [];
  }
}

function sha256(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}
