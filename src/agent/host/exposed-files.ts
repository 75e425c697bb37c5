import { realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { listNames } from "../../lib/file-permissions.ts";
import { configSecrets } from "../config/masked.ts";
import { agentFiles } from "../config/agent-files.ts";
import type { ConfigFile } from "../config/schema.ts";
import {
  type Exposure,
  type FileStat,
  findExposure,
  type PermissionRule,
  type TrustedUsers,
} from "../core/host/exposure.ts";

const ROOT = 0;

type Examined = ConfigFile & { readonly path: string };

/**
 * Finds files that other users can read or change although the agent's secrets or behaviour depend on them: its own
 * files, its configuration, the files named there, and all parent directories. Skips what this user may not examine.
 */
export function findExposedFiles(config: Examined): Exposure[] {
  const trusted = readTrustedUsers(config.state_dir);
  const fileSets = agentFiles(config);
  const own = fileSets.flatMap(({ directory, directoryMode, fileMode, isManaged }) => [
    ...examinePath(directory, directoryMode === 0o777 ? "replace" : "read", trusted, directoryMode),
    ...listNames(directory)
      .filter(isManaged)
      .flatMap((name) => examineFile(join(directory, name), trusted, fileMode)),
  ]);
  const named = listConfiguredFiles(config);
  const settings = named.flatMap(([path, protection]) => examinePath(path, protection, trusted));
  const directories = new Set(
    [...fileSets.map(({ directory }) => directory), ...named.map(([path]) => path)].flatMap(listAncestors),
  );
  const ancestors = [...directories].flatMap((path) =>
    examinePath(path, "replace", { ...trusted, expectedOwner: ROOT }),
  );
  const all = [...own, ...settings, ...ancestors];
  return all.filter(({ path }, index) => all.findIndex((other) => other.path === path) === index);
}

function listConfiguredFiles(config: Examined): [string, PermissionRule][] {
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

/** Root, this user, and the owner of the state directory, which the service runs as. */
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

/** Examines regular files only: sockets check permissions themselves, and the directory protects the rest. */
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

/** Returns the parent directories of a path, as written and with links resolved. */
function listAncestors(path: string): string[] {
  const paths = [path];
  try {
    paths.push(realpathSync(path));
  } catch {
    // It does not exist yet, or this user may not see it.
  }
  return paths.flatMap((each) => parentsOf(each));
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
