import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { PermissionLimits } from "../../lib/file-permissions.ts";
import { localSocketPath } from "./socket-path.ts";
import { logFilePath } from "./log-file.ts";
import type { ConfigFile } from "./schema.ts";

const PRIVATE_FILE_MODE = 0o600;
const PRIVATE_DIRECTORY_MODE = 0o700;
/** Others can reach a socket in the directory, but cannot list it. */
const TRAVERSABLE_DIRECTORY_MODE = 0o711;
const UNRESTRICTED_MODE = 0o777;
/** Secrets are masked in the log, and a group may have been given access on purpose. */
const LOG_FILE_MODE = 0o640;

const DOWNLOAD_FILE = /\.(?:part|address)$/;

/** Returns the directories of the agent's files, with the maximum permissions. */
export function agentFiles(config: Pick<ConfigFile, "state_dir" | "deploy" | "log" | "local">): PermissionLimits[] {
  const stateDir = realPath(config.state_dir);
  const holdsSocket = realPath(dirname(localSocketPath(config))) === stateDir;
  const downloads = config.deploy.download_dir;
  const log = logFilePath(config.log.file);
  return [
    {
      directory: stateDir,
      directoryMode: holdsSocket ? TRAVERSABLE_DIRECTORY_MODE : PRIVATE_DIRECTORY_MODE,
      fileMode: PRIVATE_FILE_MODE,
      isManaged: () => true,
    },
    {
      directory: realPath(downloads ?? join(stateDir, "downloads")),
      // A configured directory may be shared with others.
      directoryMode: downloads === undefined ? PRIVATE_DIRECTORY_MODE : UNRESTRICTED_MODE,
      fileMode: PRIVATE_FILE_MODE,
      isManaged: (name) => DOWNLOAD_FILE.test(name),
    },
    {
      directory: realPath(join(stateDir, "previous-logs")),
      directoryMode: PRIVATE_DIRECTORY_MODE,
      fileMode: PRIVATE_FILE_MODE,
      isManaged: () => true,
    },
    {
      directory: realPath(dirname(log)),
      directoryMode: UNRESTRICTED_MODE,
      fileMode: LOG_FILE_MODE,
      isManaged: (name) => name === basename(log) || name.startsWith(`${basename(log)}.`),
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
