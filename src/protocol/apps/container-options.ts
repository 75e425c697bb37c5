import { z } from "zod";
import { absolutePath } from "./app-fields.ts";
import { CAPABILITIES, canonicalCapability } from "./capabilities.ts";
import { clearable, optional } from "./optional-fields.ts";
import { dns, dnsOptions, dnsSearch, extraHosts, hostname } from "./container-names.ts";
import { init, maxRestarts, noHealthcheck, stdinOpen, stopGrace, stopSignal, tty } from "./container-lifecycle.ts";
import { closestName } from "../values/closest-name.ts";
import {
  deviceCgroupRules,
  groupAdd,
  ipc,
  MAX_ID,
  memorySwapLimit,
  pid,
  pidsLimit,
  securityOpt,
} from "./container-rights.ts";
import { owner } from "./volume-fields.ts";
import { normalizePath } from "../values/normalize-path.ts";

/*
 * Options of an app's container: what a container engine calls by the same names. All are optional and absent by default.
 */

const NUL = "\0";

/** Largest size of a file system in memory. */
const MAX_MEMORY_BYTES = 2 ** 40;

const MAX_SYSCTLS = 32;
const MAX_LABELS = 64;

/** Most characters of all labels of an app together: engines return them in every list of containers. */
const MAX_LABEL_CHARACTERS = 16_384;

const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !value.includes(NUL), "must not contain NUL");

const entrypoint = z
  .array(text(4096))
  .min(1, "must not be empty")
  .max(256)
  .meta({
    description:
      "Program and first arguments in place of the image's own entrypoint. Without `command`, the image's command is " +
      "dropped too, as it belongs to the image's entrypoint.",
    examples: [["/usr/bin/tini", "--"]],
  });

const user = z
  .string()
  .max(128)
  .regex(/^[\w][\w.-]*\$?(:[\w][\w.-]*\$?)?$/, "must be USER or USER:GROUP, each a name or a number")
  .refine(
    (value) => value.split(":").every((part) => !/^\d+$/.test(part) || Number(part) <= MAX_ID),
    `must not have a number above ${MAX_ID}`,
  )
  .meta({
    description: "User, and optionally group, that the app runs as: names of the image's own, or numbers.",
    examples: ["1000:1000"],
  });

const workingDir = absolutePath.meta({
  description: "Directory in the container in which the app starts; the image's own by default.",
  examples: ["/srv"],
});

const capability = z
  .string()
  .max(64)
  .superRefine((name, context) => {
    const canonical = canonicalCapability(name);
    if (CAPABILITIES.includes(canonical)) return;
    const closest = closestName(canonical, CAPABILITIES);
    const hint = closest === undefined ? "such as NET_ADMIN, or ALL" : `did you mean ${closest}?`;
    context.addIssue({ code: "custom", message: `must be the name of a capability; ${hint}` });
  });

const capabilities = z.array(capability).max(CAPABILITIES.length);

const capAdd = capabilities.meta({
  description:
    "Linux capabilities the app gets beside the engine's usual ones; `ALL` for every one. The device must allow each in " +
    "`policy.capabilities.allow`.",
  examples: [["NET_ADMIN"]],
});

const capDrop = capabilities.meta({
  description: "Linux capabilities the app loses; `ALL` for every one that `cap_add` does not name.",
  examples: [["ALL"]],
});

const readOnly = z.boolean().meta({
  description: "Whether the app can write only to its mounts. Podman adds writable `/tmp`, `/run` and `/var/tmp`.",
  examples: [true],
});

/** Whether the engine fills the directory itself, so that an app could not start with another one there. */
function isOfEngine(path: string): boolean {
  return /^\/(dev|(proc|sys)(\/.*)?)?$/.test(normalizePath(path));
}

const tmpfsMount = z
  .strictObject({
    target: absolutePath
      .refine((path) => !path.includes(":"), "must not contain ':'")
      .refine((path) => !isOfEngine(path), "must not be /, /dev, or in /proc or /sys")
      .meta({ description: "Path in the container; each only once.", examples: ["/run"] }),
    size_bytes: z
      .int()
      .min(4096)
      .max(MAX_MEMORY_BYTES)
      .exactOptional()
      .meta({ description: "Most bytes it may hold; half of the device's memory by default.", examples: [67_108_864] }),
    mode: z
      .string()
      .regex(/^[01]?[0-7]{3}$/, "must be an octal mode such as 1777 or 0755")
      .exactOptional()
      .meta({ description: "Its permissions, in octal; `1777` by default.", examples: ["0755"] }),
    owner: owner.exactOptional().meta({
      description: "Owner of the directory, `UID` or `UID:GID`; root by default. With Docker only.",
      examples: ["1000:1000"],
    }),
    exec: z
      .boolean()
      .exactOptional()
      .meta({ description: "Whether programs in it can be executed; `false` by default.", examples: [true] }),
  })
  .meta({ id: "TmpfsMount" });

const tmpfs = z
  .array(tmpfsMount)
  .max(16)
  .superRefine(unique((entry) => normalizePath(entry.target), "target", "the target appears twice"))
  .meta({ description: "Directories in memory, empty at each start of the app." });

const shmSize = z
  .int()
  .min(65_536)
  .max(MAX_MEMORY_BYTES)
  .meta({ description: "Size of `/dev/shm` in bytes; 64 MiB by default.", examples: [134_217_728] });

/** The limits of a process, as `ulimit` and engines call them. */
export const ULIMITS = [
  "as",
  "core",
  "cpu",
  "data",
  "fsize",
  "locks",
  "memlock",
  "msgqueue",
  "nice",
  "nofile",
  "nproc",
  "rss",
  "rtprio",
  "rttime",
  "sigpending",
  "stack",
] as const;

const limitValue = z.int().min(-1);

const ulimit = z
  .strictObject({
    name: z.enum(ULIMITS).meta({ description: "Name of the limit; each only once.", examples: ["nofile"] }),
    soft: limitValue.meta({ description: "The limit in force; -1 for none.", examples: [65_536] }),
    hard: limitValue
      .exactOptional()
      .meta({ description: "How far the app may raise it; the same as `soft` by default.", examples: [65_536] }),
  })
  .refine(({ soft, hard = soft }) => hard === -1 || (soft !== -1 && soft <= hard), {
    path: ["soft"],
    message: "must not be above `hard`",
  })
  .meta({ id: "Ulimit" });

const ulimits = z
  .array(ulimit)
  .max(ULIMITS.length)
  .superRefine(unique(({ name }) => name, "name", "the name appears twice"))
  .meta({ description: "Limits of the app's processes. The device may forbid some (`policy.ulimits`)." });

/** Kernel parameters of a container's own namespaces. Others would change the device. */
const SYSCTL =
  /^(net(\.[\w-]+)+|kernel\.(msgmax|msgmnb|msgmni|sem|shmall|shmmax|shmmni|shm_rmid_forced)|fs\.mqueue\.\w+)$/;

const sysctls = z
  .record(
    z
      .string()
      .max(128)
      .regex(SYSCTL, "is not a kernel parameter of a container: use net.*, kernel.msg*, .sem or .shm*, fs.mqueue.*"),
    text(256).min(1, "must not be empty"),
  )
  .refine((value) => Object.keys(value).length <= MAX_SYSCTLS, `must not have more than ${MAX_SYSCTLS} entries`)
  .meta({
    description:
      "Kernel parameters of the app's own namespaces: `net.*`, `kernel.msg*`, `kernel.sem`, `kernel.shm*` and `fs.mqueue.*`.",
    examples: [{ "net.core.somaxconn": "1024" }],
    maxProperties: MAX_SYSCTLS,
  });

/** Prefix of the labels by which the agent knows its containers. */
const RESERVED_LABELS = "io.edge-agent.";

const labels = z
  .record(
    z
      .string()
      .max(128)
      .regex(/^[!-<>-~]+$/, "must be of visible ASCII characters without '='")
      .refine(
        (key) => !key.toLowerCase().startsWith(RESERVED_LABELS),
        `must not begin with ${RESERVED_LABELS}: these labels are the agent's`,
      ),
    text(1024),
  )
  .refine((value) => Object.keys(value).length <= MAX_LABELS, `must not have more than ${MAX_LABELS} entries`)
  .refine(
    (value) => Object.entries(value).reduce((sum, entry) => sum + entry.join("").length, 0) <= MAX_LABEL_CHARACTERS,
    `must not have more than ${MAX_LABEL_CHARACTERS} characters in all`,
  )
  .meta({
    description:
      "Labels of the app's container, for other programs on the device. Those that begin with `io.edge-agent.` are the agent's.",
    examples: [{ "com.example.team": "line-3" }],
    maxProperties: MAX_LABELS,
  });

const log = z
  .strictObject({
    max_bytes: z
      .int()
      .min(4096)
      .max(2 ** 30)
      .meta({ description: "Size of one log file.", examples: [1_048_576] }),
    max_files: z
      .int()
      .min(1)
      .max(100)
      .default(3)
      .meta({ description: "Log files kept. Podman keeps one of the size of all.", examples: [2] }),
  })
  .meta({
    id: "ContainerLog",
    description:
      "How much of the app's log is kept, in place of the device's `container_logs`. The device bounds the product " +
      "(`policy.max_log_bytes`).",
  });

const gpuId = z.string().regex(/^[\w.:-]{1,64}$/, "must be the index or the UUID of a GPU");

const gpus = z
  .union([
    z.literal("all", 'must be "all" or an object with `ids`'),
    z.strictObject({
      ids: z.array(gpuId).min(1, "must not be empty").max(16).meta({ description: "Index or UUID of each GPU." }),
    }),
  ])
  .meta({
    description:
      'NVIDIA GPUs the app may use: `"all"`, or `ids` with index or UUID. The engine must offer them, and the device ' +
      "allow them (`policy.gpus`).",
    examples: ["all", { ids: ["0"] }],
  });

/** Every option of a container, in the order in which options are compared and shown. */
const schemas = {
  entrypoint,
  user,
  working_dir: workingDir,
  cap_add: capAdd,
  cap_drop: capDrop,
  read_only: readOnly,
  tmpfs,
  shm_size: shmSize,
  ulimits,
  sysctls,
  extra_hosts: extraHosts,
  dns,
  dns_search: dnsSearch,
  dns_options: dnsOptions,
  hostname,
  labels,
  init,
  stop_signal: stopSignal,
  stop_grace_s: stopGrace,
  log,
  gpus,
  group_add: groupAdd,
  pids_limit: pidsLimit,
  security_opt: securityOpt,
  pid,
  ipc,
  memory_swap_limit: memorySwapLimit,
  no_healthcheck: noHealthcheck,
  max_restarts: maxRestarts,
  tty,
  stdin_open: stdinOpen,
  device_cgroup_rules: deviceCgroupRules,
};

export const containerOptions = optional(schemas);

/** The same options in an update. */
export const containerOptionsUpdate = clearable(schemas);

export type ContainerOptions = z.output<z.ZodObject<typeof containerOptions>>;

function unique<T>(key: (entry: T) => string, field: string, message: string) {
  return (entries: readonly T[], context: z.RefinementCtx): void => {
    const seen = new Set<string>();
    for (const [index, entry] of entries.entries()) {
      const value = key(entry);
      if (seen.has(value)) context.addIssue({ code: "custom", path: [index, field], message });
      seen.add(value);
    }
  };
}
