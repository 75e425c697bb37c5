import { z } from "zod";

/*
 * Options of an app's container that give its processes rights, or take them away, beside capabilities.
 */

/** Largest user and group id that container runtimes accept. */
export const MAX_ID = 2 ** 31 - 1;

const MAX_GROUPS = 32;

export const groupAdd = z
  .array(
    z
      .string()
      .regex(/^[\w][\w.-]{0,31}$/, "must be a group of the image, by name or number")
      .refine((group) => !/^\d+$/.test(group) || Number(group) <= MAX_ID, `must not have a number above ${MAX_ID}`),
  )
  .max(MAX_GROUPS)
  .refine((groups) => new Set(groups).size === groups.length, "a group appears twice")
  .meta({
    description:
      "Further groups of the app's processes: names of the image's own, or numbers, such as a device file's.",
    examples: [["20", "audio"]],
  });

/** The most processes that Linux has, on 64 bits. */
const MAX_PIDS = 4_194_304;

export const pidsLimit = z
  .int()
  .min(1)
  .max(MAX_PIDS)
  .meta({
    description: "Most processes and threads the app may have at a time; no limit by default.",
    examples: [200],
  });

const MAX_DEVICE_RULES = 32;

export const deviceCgroupRules = z
  .array(
    z
      .string()
      .max(32)
      .regex(
        /^[acb] (?:\d{1,7}|\*):(?:\d{1,7}|\*) (?!.*(.).*\1)[rwm]{1,3}$/,
        "must be a, b or c, MAJOR:MINOR with * for any number, and what of r (read), w (write) and m (make node), such as c 188:* rw",
      ),
  )
  .max(MAX_DEVICE_RULES)
  .meta({
    description:
      "Device files that the app may use, by the kernel's numbers of them, also those that are plugged in later; it has to make " +
      "the files, or to mount a directory with them. The device must allow them (`policy.device_cgroup_rules`). With Docker only.",
    examples: [["c 188:* rw"]],
  });

/** Returns a rule with its letters in one order. */
export function canonicalDeviceRule(rule: string): string {
  const [kind = "", numbers = "", letters = ""] = rule.split(" ");
  return [kind, numbers, ["r", "w", "m"].filter((letter) => letters.includes(letter)).join("")].join(" ");
}

/** Whose processes, or shared memory, an app has in place of its own. */
const HOST = "host";

export const pid = z.literal(HOST, "must be host").meta({
  description:
    "`host`: the app sees the processes of the device, and may end those that its user may. The device must allow it " +
    "(`policy.host_pid`). By default it has processes of its own.",
  examples: [HOST],
});

export const ipc = z.literal(HOST, "must be host").meta({
  description:
    "`host`: the app has the shared memory and the message queues of the device in place of its own. The device must " +
    "allow it (`policy.host_ipc`).",
  examples: [HOST],
});

/** What engines take for no limit. */
export const UNLIMITED_SWAP = -1;

export const memorySwapLimit = z
  .int()
  .min(UNLIMITED_SWAP)
  .max(2 ** 45)
  .refine((bytes) => bytes !== 0, "must not be 0; leave it out for the engine's default")
  .meta({
    description:
      "Maximum memory and swap of the app together, in bytes, at least `memory_limit`, which it needs; -1 for as much swap " +
      "as there is. By default engines allow as much swap as memory.",
    examples: [268_435_456],
  });

/** The one that takes rights away, which no policy forbids. */
export const NO_NEW_PRIVILEGES = "no-new-privileges";

const securityOption = z
  .string()
  .max(160)
  .regex(
    /^(?:no-new-privileges|seccomp=unconfined|apparmor=[\w][\w./:-]{0,127}|label=disable)$/,
    "must be no-new-privileges, seccomp=unconfined, apparmor=PROFILE or label=disable",
  );

export const securityOpt = z
  .array(securityOption)
  .max(4)
  .refine(
    (options) => new Set(options.map((option) => option.split("=")[0])).size === options.length,
    "an option appears twice",
  )
  .meta({
    description:
      "`no-new-privileges`: the app's programs gain no rights by `setuid` and the like. The others take protections of the " +
      "engine away, or choose a profile of the device: `seccomp=unconfined`, `apparmor=PROFILE`, `label=disable`; the device " +
      "must allow each in `policy.security_opt.allow`.",
    examples: [[NO_NEW_PRIVILEGES]],
  });
