import { z } from "zod";
import { CAPABILITIES, canonicalCapability } from "../../protocol/apps/capabilities.ts";
import { ULIMITS } from "../../protocol/apps/container-options.ts";
import { DEFAULT_FILES_BYTES, MAX_UPLOADED_FILES_BYTES } from "../../protocol/limits.ts";
import { MAX_LOG_BYTES } from "../core/policy/option-rules.ts";

function isCapability(name: string): boolean {
  return CAPABILITIES.includes(canonicalCapability(name));
}

const prefixes = z.array(z.string().startsWith("/", "must be an absolute path")).default([]);

const engineNames = z
  .array(
    z
      .string()
      .regex(
        /^(?:[a-zA-Z0-9][a-zA-Z0-9_.-]{0,254})?\*?$/,
        "must be a name of letters, digits, '_', '.' and '-', or its beginning and *",
      ),
  )
  .max(64)
  .default([]);

/** What the device's owner allows apps to do. */
export const policy = z.strictObject({
  privileged: z.boolean().default(true).meta({ description: "Whether apps may be privileged." }),
  host_network: z.boolean().default(true).meta({ description: "Whether apps may use the host's network." }),
  host_pid: z.boolean().default(false).meta({
    description:
      "Whether apps may see the device's processes, with `pid`, and end those of the same user: for an app that runs as root all. Not included in `privileged`.",
  }),
  host_ipc: z.boolean().default(false).meta({
    description:
      "Whether apps may have the device's shared memory and message queues, with `ipc`. Not included in `privileged`.",
  }),
  mounts: z
    .strictObject({
      allow: prefixes.meta({
        description:
          "Path prefixes apps may mount, as written; empty for all. Also needed to allow a protected path, such as the engine's socket.",
      }),
      deny: prefixes.meta({
        description:
          "Path prefixes apps may never mount, nor the paths they resolve to, nor a directory that contains one.",
      }),
      allow_containing_protected: z.boolean().default(false).meta({
        description:
          "Whether apps may mount directories that contain protected paths, such as `/` for what watches the device. Such an app controls the device, also with `readonly`.",
      }),
    })
    .prefault({}),
  max_image_bytes: z.int().min(1).optional().meta({
    description: "Maximum size of an image, in compressed bytes, including layers that are on the device already.",
  }),
  devices: z
    .strictObject({
      allow: prefixes.meta({ description: "Path prefixes of device files apps may use; empty for all." }),
      deny: prefixes.meta({ description: "Path prefixes of device files apps may never use." }),
    })
    .optional()
    .meta({
      description: "Which device files apps may use. By default all if apps may be privileged, and none otherwise.",
    }),
  device_cgroup_rules: z
    .strictObject({
      allow: z
        .array(z.string().min(1).max(32))
        .max(64)
        .optional()
        .meta({
          description:
            "Rules apps may have in `device_cgroup_rules`, as written there. By default all if apps may be privileged and `policy.devices` is not set, since a rule is not bound to paths, and none otherwise.",
          examples: [["c 188:* rw"]],
        }),
    })
    .prefault({}),
  capabilities: z
    .strictObject({
      allow: z
        .array(z.string().refine(isCapability, "must be the name of a capability such as NET_ADMIN, or ALL"))
        .default([])
        .meta({
          description:
            "Linux capabilities apps may get with `cap_add` beside those that engines give to every container; `ALL` for every one. Not included in `privileged`.",
          examples: [["NET_ADMIN", "SYS_TIME"]],
        }),
    })
    .prefault({}),
  ulimits: z
    .strictObject({
      allow: z.array(z.enum(ULIMITS)).optional().meta({
        description:
          "Limits of processes apps may set with `ulimits`. By default all but `memlock`, `nice`, `rtprio` and `rttime`.",
      }),
    })
    .prefault({}),
  sysctls: z
    .strictObject({
      allow: z.array(z.string().min(1)).optional().meta({
        description:
          "Prefixes of kernel parameters apps may set with `sysctls`. By default all that belong to the app's own namespaces; no others can be set.",
      }),
    })
    .prefault({}),
  security_opt: z
    .strictObject({
      allow: z
        .array(z.string().min(1))
        .default([])
        .meta({
          description:
            "Security options apps may have beside `no-new-privileges`, as written in `security_opt`. Not included in `privileged`.",
          examples: [["seccomp=unconfined", "apparmor=unconfined"]],
        }),
    })
    .prefault({}),
  external_volumes: z
    .strictObject({
      allow: engineNames.meta({
        description:
          "Volumes of the engine that the agent did not make and apps may mount with `external`, by name, or by its beginning and `*`. One that stands for a path of the device gives that path, whatever `mounts` says. The volumes of agents are never among them.",
        examples: [["grafana-storage", "shop_*"]],
      }),
    })
    .prefault({}),
  external_networks: z
    .strictObject({
      allow: engineNames.meta({
        description:
          "Networks of the engine that the agent did not make and apps may be on with `external_networks`, by name, or by its beginning and `*`. Apps then reach the containers on them, and are reached by these. The networks of agents, and the engine's own, are never among them.",
        examples: [["proxy", "shop_*"]],
      }),
    })
    .prefault({}),
  max_files_bytes: z.int().min(65_536).max(MAX_UPLOADED_FILES_BYTES).default(DEFAULT_FILES_BYTES).meta({
    description:
      "Maximum size of the files and directories that come with the apps of one request, unpacked. Those above 16 MiB are uploads, which are on the disk twice, once compressed, and need no more memory than small ones.",
  }),
  max_log_bytes: z.int().min(4096).default(MAX_LOG_BYTES).meta({
    description: "Maximum size of an app's log files together, where the app sets `log`.",
  }),
  gpus: z.boolean().optional().meta({
    description: "Whether apps may use GPUs. By default if apps may be privileged and `policy.devices` is not set.",
  }),
  remote_access: z.enum(["off", "forward", "exec"]).default("off").meta({
    description:
      "What operators may reach through the link: nothing, the ports of apps (`forward`), or also commands and files of apps (`exec`). Applied at once by a reload.",
  }),
  registries: z
    .strictObject({
      allow: z.array(z.string().min(1)).default([]).meta({
        description: "Registry hosts images may come from, `docker.io` for references without one; empty for all.",
      }),
    })
    .prefault({}),
});
