import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { userInfo } from "node:os";
import { type ConfigError } from "../../config/config-error.ts";
import type { CheckResult } from "../../core/doctor/checks.ts";
import { bad, good, isPlaceholder, type Probe, type ProbeContext } from "../probe.ts";

const ENROLL = "sudo edge-agent enroll --url https://CONTROL-PLANE --code CODE";

/** The configuration file can be read and is valid, and the device is enrolled. */
export const probeConfig: Probe = async (context) => {
  const { settings, configPath } = context;
  if (settings instanceof Error) {
    if (settings.file?.isMissing) return bad(`This device is not enrolled: there is no ${configPath}.`, ENROLL);
    return describe(settings, context);
  }
  const { device_token: token, device_token_file: file = "" } = settings;
  if (isPlaceholder(settings) && token === undefined && !existsSync(file))
    return bad("This device is not enrolled yet.", `${ENROLL} (the operator has the code)`);
  return good(`${configPath} can be used.`);
};

/** The token and the certificates that the configuration names can be read. */
export const probeCredentials: Probe = async (context) => {
  const { config } = context;
  if (!(config instanceof Error)) return good("They can be read.");
  if (config.file?.setting === "device_token_file" && config.file.isMissing)
    return bad(`This device is not enrolled: there is no token at ${config.file.path}.`, ENROLL);
  return describe(config, context);
};

function describe(error: ConfigError, { isService, configPath }: ProbeContext): CheckResult {
  if (error.kind !== "forbidden" || !error.file)
    return bad(`${error.message}.`, `Correct the file, and check it: sudo edge-agent config check -c ${configPath}`);
  if (!isService) return bad(`${error.message}.`, "Run it as root: sudo edge-agent doctor");
  const { username } = userInfo();
  return bad(`${error.message}, as the service's user ${username}.`, commandToOpen(error.file, username));
}

/** The command that lets the service's user read the file. */
function commandToOpen({ path, setting }: NonNullable<ConfigError["file"]>, user: string): string {
  const closed = parentsOf(path).findLast((directory) => !mayEnter(directory));
  if (closed !== undefined) return `sudo chgrp ${user} ${closed} && sudo chmod g+x ${closed}`;
  if (setting === "device_token_file") return `sudo chown ${user}: ${path} && sudo chmod 600 ${path}`;
  if (setting === "the configuration file") return `sudo chgrp ${user} ${path} && sudo chmod 640 ${path}`;
  return `sudo chmod 644 ${path}`;
}

function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}

function mayEnter(directory: string): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
