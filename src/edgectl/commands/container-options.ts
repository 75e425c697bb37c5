import type { Command } from "commander";
import {
  parseCapability,
  parseExtraHost,
  parseGpus,
  parseKeyValue,
  parseTmpfs,
  parseUlimit,
} from "../deploy/parse-container-options.ts";
import { parseSize, parseSwap } from "../deploy/parse-options.ts";
import { collect, wholeNumber } from "./options.ts";

/** Adds the options of an app's container. Their names are those of `docker run`. */
export function addContainerOptions(command: Command): Command {
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
