import { type Command, InvalidArgumentError, Option } from "commander";
import {
  parseCapability,
  parseDevice,
  parseExtraHost,
  parseGpus,
  parseKeyValue,
  parsePort,
  parseSize,
  parseSwap,
  parseTmpfs,
  parseUlimit,
  parseVolume,
} from "../deploy/parse-options.ts";
import { collect, waitForDeviceOption, wholeNumber } from "./options.ts";
import { parseFileOption } from "../deploy/app-files.ts";

/** Adds the options of an app's container. Their names are those of `docker run`. */
function addContainerOptions(command: Command): Command {
  return command
    .option("--entrypoint <argument>", "in place of the image's own (repeatable, one argument each)", collect(String))
    .option("--user <user[:group]>", "user the app runs as, by name or number")
    .option("--workdir <path>", "directory in which the app starts")
    .option(
      "--cap-add <capability>",
      "give the app a capability, such as NET_ADMIN (repeatable)",
      collect(parseCapability),
    )
    .option("--cap-drop <capability>", "take a capability from the app, or ALL (repeatable)", collect(parseCapability))
    .option("--read-only", "let the app write only to its mounts")
    .option("--no-read-only", "do not, whatever was said before")
    .option(
      "--tmpfs <path[:size=…,mode=…,exec]>",
      "a directory in memory, such as /run:size=64MiB (repeatable)",
      collect(parseTmpfs),
    )
    .option("--shm-size <size>", "size of /dev/shm, such as 128MiB", parseSize)
    .option(
      "--ulimit <name=soft[:hard]>",
      "limit of the app's processes, such as nofile=65536 (repeatable)",
      collect(parseUlimit),
    )
    .option(
      "--sysctl <key=value>",
      "kernel parameter of the app's own, such as net.core.somaxconn=1024 (repeatable)",
      collect(parseKeyValue),
    )
    .option(
      "--add-host <name:address>",
      "host name the app finds; host-gateway is the device (repeatable)",
      collect(parseExtraHost),
    )
    .option("--dns <address>", "name server in place of the device's (repeatable)", collect(String))
    .option("--hostname <name>", "host name the app sees as its own")
    .option("--label <key=value>", "label of the app's container (repeatable)", collect(parseKeyValue))
    .option("--init", "run a small init process around the app")
    .option("--no-init", "do not, whatever was said before")
    .option("--stop-signal <signal>", "what asks the app to end, such as SIGINT")
    .option("--stop-timeout <seconds>", "how long it may take to end before it is killed", wholeNumber(0, 600))
    .option("--log-max-size <size>", "size of one file of the app's log, such as 1MiB", parseSize)
    .option("--log-max-files <n>", "how many such files are kept", wholeNumber(1, 100))
    .option(
      "--group-add <group>",
      "further group of the app's processes, by name or number (repeatable)",
      collect(String),
    )
    .option("--pids-limit <n>", "most processes and threads of the app", wholeNumber(1, 4_194_304))
    .option(
      "--security-opt <option>",
      "no-new-privileges, seccomp=unconfined, apparmor=PROFILE or label=disable (repeatable)",
      collect(String),
    )
    .option("--pid <host>", "see the device's processes, which the device must allow")
    .option("--ipc <host>", "have the device's shared memory, which the device must allow")
    .option("--memory-swap <size|-1>", "most memory and swap together; -1 for all swap there is", parseSwap)
    .option("--without-healthcheck", "leave out the health check of the image")
    .option("--gpus <all|ids>", "give the app GPUs: all, or indexes or UUIDs with commas between", parseGpus);
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
      "mount a path of the device, or by name a volume that its agent manages; :owner=UID:GID at the end for what is made (repeatable)",
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
