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
