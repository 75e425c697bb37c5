import { realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { listNames } from "../../lib/file-permissions.ts";
import { configSecrets } from "../config/masked.ts";
import { agentFiles } from "../config/agent-files.ts";
import type { Config } from "../config/load.ts";
import {
  type Exposure,
  type FileStat,
  findExposure,
  type PermissionRule,
  type TrustedUsers,
} from "../core/host/exposure.ts";

const ROOT = 0;

/**
 * Looks at everything the agent's secrets and its behaviour depend on: the files it keeps, its configuration, the files
 * that names, and each directory on the way to one. What this user may not look at is left out.
 */
export function findExposedFiles(config: Config): Exposure[] {
  const trusted = readTrustedUsers(config.state_dir);
  const places = agentFiles(config);
  const own = places.flatMap(({ directory, directoryMode, fileMode, isManaged }) => [
    ...examinePath(directory, directoryMode === 0o777 ? "replace" : "read", trusted, directoryMode),
    ...listNames(directory)
      .filter(isManaged)
      .flatMap((name) => examineFile(join(directory, name), trusted, fileMode)),
  ]);
  const named = listConfiguredFiles(config);
  const settings = named.flatMap(([path, protection]) => examinePath(path, protection, trusted));
  const directories = new Set(
    [...places.map(({ directory }) => directory), ...named.map(([path]) => path)].flatMap(listAncestors),
  );
  const way = [...directories].flatMap((path) => examinePath(path, "replace", { ...trusted, expectedOwner: ROOT }));
  const all = [...own, ...settings, ...way];
  return all.filter(({ path }, index) => all.findIndex((other) => other.path === path) === index);
}

function listConfiguredFiles(config: Config): [string, PermissionRule][] {
  const { path, device_token, device_token_file, docker_config_file, extra_ca_file, registries } = config;
  const holdsSecrets = device_token !== undefined || configSecrets(config).length > 0;
  const secrets = [device_token_file, docker_config_file, ...registries.map(({ password_file }) => password_file)];
  const trusts = [extra_ca_file, ...registries.map(({ ca_file }) => ca_file)];
  const found: [string | undefined, PermissionRule][] = [
    [path, holdsSecrets ? "shared" : "write"],
    ...secrets.map((file): [string | undefined, PermissionRule] => [file, "shared"]),
    ...trusts.map((file): [string | undefined, PermissionRule] => [file, "write"]),
  ];
  return found.flatMap(([file, protection]) => (file === undefined ? [] : [[resolve(file), protection]]));
}

/** The service runs as the owner of its state. */
function readTrustedUsers(stateDir: string): TrustedUsers {
  const [uid, gid] = [process.geteuid?.() ?? ROOT, process.getegid?.() ?? ROOT];
  const state = readFileStat(stateDir);
  return {
    uids: [ROOT, uid, state?.uid ?? uid],
    gids: [ROOT, gid, state?.gid ?? gid],
    expectedOwner: state?.uid ?? uid,
  };
}

function examinePath(path: string, protection: PermissionRule, trusted: TrustedUsers, allowed?: number): Exposure[] {
  const facts = readFileStat(path);
  const exposure = facts && findExposure(facts, protection, trusted, allowed);
  return exposure ? [exposure] : [];
}

/** Sockets have permissions of their own, and what else is in there the directory itself keeps from others. */
function examineFile(path: string, trusted: TrustedUsers, allowed: number): Exposure[] {
  return isFile(path) ? examinePath(path, "read", trusted, allowed) : [];
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The directories a path leads through: as it is written, and as its links lead. */
function listAncestors(path: string): string[] {
  const ways = [path];
  try {
    ways.push(realpathSync(path));
  } catch {
    // Not there yet, or not for this user to see.
  }
  return ways.flatMap((way) => parentsOf(way));
}

function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}

function readFileStat(path: string): FileStat | undefined {
  try {
    const facts = statSync(path);
    return { path, isDirectory: facts.isDirectory(), mode: facts.mode & 0o7777, uid: facts.uid, gid: facts.gid };
  } catch {
    return undefined;
  }
}
