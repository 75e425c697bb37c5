import { type Command, InvalidArgumentError, Option } from "commander";
import { CONTAINER_FLAGS } from "../deploy/container-flags.ts";
import { parseDevice, parsePort, parseSize, parseVolume } from "../deploy/parse-options.ts";
import { collect, waitForDeviceOption, wholeNumber } from "./options.ts";
import { parseFileOption } from "../deploy/app-files.ts";

/** Adds the options of an app's container. */
function addContainerOptions(command: Command): Command {
  for (const { flags, help, parse, range, isRepeatable, isNegatable } of CONTAINER_FLAGS) {
    const option = new Option(flags, help);
    const parser = range ? wholeNumber(...range) : parse;
    if (isRepeatable) option.argParser(collect<unknown>(parser ?? String));
    else if (parser) option.argParser(parser);
    command.addOption(option);
    if (isNegatable) command.option(flags.replace("--", "--no-"), "do not, whatever was said before");
  }
  return command;
}

const MAX_HEALTH_TIME_S = 3600;

/** Adds the options that describe an app. */
export function addAppOptions(command: Command): Command {
  const withFields = command
    .option("--image <image>", "container image")
    .option(
      "-p, --port <host:target[/udp]>",
      "make a port of the app reachable, such as 30080:80 (repeatable)",
      collect(parsePort),
    )
    .option("-e, --env <key=value>", "set a variable; KEY alone takes this shell's value (repeatable)", collect(String))
    .option("--env-file <file>", "set variables from a file of KEY=VALUE lines (repeatable)", collect(String))
    .option(
      "--secret-env <key=value>",
      "as --env, for a secret: masked everywhere, also in the app's log (repeatable)",
      collect(String),
    )
    .option(
      "-v, --volume <source:target[:ro]>",
      "mount a path of the device, or by name a volume that its agent manages, after external: one of the engine; :owner=UID:GID at the end for what is made (repeatable)",
      collect(parseVolume),
    )
    .option(
      "--file <local:target[:mode]>",
      "bring a file of this machine, read-only in the app (repeatable)",
      collect(parseFileOption),
    )
    .option(
      "--secret-file <local:target[:mode]>",
      "as --file, for a secret: for the app's user alone, masked in its log (repeatable)",
      collect(parseFileOption),
    )
    .option("--device <local[:target[:rwm]]>", "give the app a device file (repeatable)", collect(parseDevice))
    .option(
      "--network <name>",
      "a network of the device in place of the one apps share; none for no network at all (repeatable)",
      collect(String),
    )
    .option("--internal-network <name>", "one of these networks that leads nowhere else (repeatable)", collect(String))
    .option(
      "--external-network <name>",
      "one of these networks that the engine has, which the device must allow (repeatable)",
      collect(String),
    )
    .option("--network-alias <name>", "a further host name of the app on its networks (repeatable)", collect(String))
    .option("--host-network", "use the device's network directly")
    .option("--no-host-network", "do not, whatever was said before")
    .option("--privileged", "give the app all rights on the device")
    .option("--no-privileged", "do not, whatever was said before")
    .option("--cpus <n>", "most processors it may use, such as 0.5", positiveNumber)
    .option("--memory <size>", "most memory it may use, such as 256MiB", parseSize)
    .addOption(
      new Option("--restart <policy>", "what happens when it ends by itself").choices([
        "unless-stopped",
        "always",
        "on-failure",
        "no",
      ]),
    )
    .addOption(
      new Option(
        "--pull <when>",
        "ask the registry: missing (never for an image on the device), changed, always (or fail)",
      ).choices(["missing", "changed", "always"]),
    )
    .option("--health-cmd <command>", "shell command that succeeds while the app is healthy")
    .option("--health-interval <seconds>", "between two of its runs", wholeNumber(1, MAX_HEALTH_TIME_S))
    .option("--health-timeout <seconds>", "one run may take", wholeNumber(1, MAX_HEALTH_TIME_S))
    .option("--health-retries <n>", "failures in a row that make it unhealthy", wholeNumber(1, 100))
    .option(
      "--health-start-period <seconds>",
      "after the start, in which failures do not count",
      wholeNumber(0, MAX_HEALTH_TIME_S),
    )
    .option(
      "--healthy-within <seconds>",
      "how long it may take to become healthy; by default what its health check allows, and the device",
      wholeNumber(1, MAX_HEALTH_TIME_S),
    );
  return addContainerOptions(withFields);
}

/** Adds the options for how a deployment or an update is carried out. */
export function addExecutionOptions(command: Command): Command {
  return command
    .option("--dry-run", "check everything and show the cost; nothing is changed")
    .option("--max-download <size>", "refuse to download more than this, such as 50MB", parseSize)
    .option("--urgent", "go ahead outside the device's download hours and budgets")
    .addOption(waitForDeviceOption())
    .option("--registry-user <name>", "user at the image's registry, for this once")
    .option("--registry-password-file <file>", "read the password from a file, - for standard input")
    .option("--registry-token-file <file>", "read a bearer token for the registry from a file, - for standard input");
}

function positiveNumber(text: string): number {
  const value = /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (value <= 0) throw new InvalidArgumentError("Give a number above 0, such as 0.5 or 2.");
  return value;
}
