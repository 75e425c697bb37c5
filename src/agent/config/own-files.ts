import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { PrivateFiles } from "../../lib/private-files.ts";
import { localSocketPath } from "../local/socket-path.ts";
import { logFilePath } from "./log-file.ts";
import type { ConfigFile } from "./schema.ts";

const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;
/** Others may pass through to a socket in it, which has permissions of its own, but see no names. */
const PASSABLE_DIRECTORY = 0o711;
const ANY_DIRECTORY = 0o777;
/** Secrets are masked in it, and a group may have been given it on purpose. */
const LOG_FILE = 0o640;

const DOWNLOAD = /\.(?:part|address)$/;

/** Where the agent keeps files of its own, and which permissions they may have at most. */
export function ownFiles(config: Pick<ConfigFile, "state_dir" | "deploy" | "log" | "local">): PrivateFiles[] {
  const stateDir = realPath(config.state_dir);
  const holdsSocket = realPath(dirname(localSocketPath(config))) === stateDir;
  const downloads = config.deploy.download_dir;
  const log = logFilePath(config.log.file);
  return [
    {
      directory: stateDir,
      directoryMode: holdsSocket ? PASSABLE_DIRECTORY : PRIVATE_DIRECTORY,
      fileMode: PRIVATE_FILE,
      isOurs: () => true,
    },
    {
      directory: realPath(downloads ?? join(stateDir, "downloads")),
      // One that was chosen may be shared.
      directoryMode: downloads === undefined ? PRIVATE_DIRECTORY : ANY_DIRECTORY,
      fileMode: PRIVATE_FILE,
      isOurs: (name) => DOWNLOAD.test(name),
    },
    {
      directory: realPath(dirname(log)),
      directoryMode: ANY_DIRECTORY,
      fileMode: LOG_FILE,
      isOurs: (name) => name === basename(log) || name.startsWith(`${basename(log)}.`),
    },
  ];
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
