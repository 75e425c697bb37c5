import { z } from "zod";

/*
 * Options of an app's container that concern its first process: how it begins, is watched and ends.
 */

/** Most seconds an app may take to end, so that an update fits into the time a deployment has. */
const MAX_STOP_GRACE_S = 600;

export const init = z.boolean().meta({
  description: "Whether a small init process passes on signals and removes ended processes, for apps that do not.",
  examples: [true],
});

export const tty = z.boolean().meta({
  description:
    "Whether the app has a terminal, as programs expect that otherwise write nothing until much has come together. Its output is one stream then, in which errors are not told apart.",
  examples: [true],
});

export const stdinOpen = z.boolean().meta({
  description: "Whether the app's input stays open, without anyone at it: a program that ends with its input runs on.",
  examples: [true],
});

export const noHealthcheck = z.boolean().meta({
  description: "Whether the health check of the image is left out; an app without one counts as healthy while it runs.",
  examples: [true],
});

const SIGNAL =
  /^(SIG(ABRT|ALRM|BUS|CHLD|CONT|FPE|HUP|ILL|INT|IO|KILL|PIPE|PROF|PWR|QUIT|SEGV|STKFLT|STOP|SYS|TERM|TRAP|TSTP|TTIN|TTOU|URG|USR1|USR2|VTALRM|WINCH|XCPU|XFSZ|RTMIN(\+([1-9]|1[0-5]))?|RTMAX(-([1-9]|1[0-4]))?)|[1-9]|[1-5]\d|6[0-4])$/;

export const stopSignal = z
  .string()
  .regex(SIGNAL, "must be a signal such as SIGINT, or its number from 1 to 64")
  .meta({
    description: "Signal that asks the app to end; the image's own by default, which is mostly `SIGTERM`.",
    examples: ["SIGINT"],
  });

export const stopGrace = z
  .int()
  .min(0)
  .max(MAX_STOP_GRACE_S)
  .meta({
    description:
      "Seconds the app may take to end when it is stopped, before it is killed; the device's `deploy.stop_grace_s` by default.",
    examples: [60],
  });

/** Podman restarts without pauses: as many at once are no burden. */
const MAX_RESTARTS = 100;

export const maxRestarts = z
  .int()
  .min(1)
  .max(MAX_RESTARTS)
  .meta({
    description:
      "With the restart policy `on-failure`: how often the engine starts the app again after failures, counted since the app " +
      "was last started by the agent. After that it stays down. No limit by default.",
    examples: [3],
  });
