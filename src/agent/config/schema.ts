import { z } from "zod";
import { data } from "./data.ts";
import { DEFAULT_STATE_DIR } from "../core/host/default-paths.ts";
import { policy } from "./policy.ts";
import { registries } from "./registries.ts";
import { LOG_LEVELS } from "../../lib/log/levels.ts";
import { isLoopback } from "../core/net/hostname.ts";
import "./uncompiled-schemas.ts";

/*
 * The agent's configuration file. The example file, the reference in the documentation and the JSON Schema are
 * generated from this. Durations are in seconds and sizes in bytes, as in the names of the keys.
 */

const seconds = (fallback: number, min: number, max: number) => z.number().min(min).max(max).default(fallback);

const link = z.strictObject({
  keepalive_s: seconds(600, 10, 3600).meta({
    description:
      "Silence after which the link is probed on a network not seen before. Every probe costs about 200 bytes of the data plan.",
  }),
  keepalive_min_s: seconds(10, 10, 3600).meta({
    description:
      "Minimum such silence, on networks that drop idle connections early. Below a minute only where keep-alives cost less than the reconnects that they save.",
  }),
  keepalive_max_s: seconds(1800, 10, 3600).meta({
    description:
      "Maximum such silence, on networks that keep idle connections. For this long, a lost connection may stay unnoticed and the device unreachable.",
  }),
  pong_timeout_s: seconds(20, 1, 300).meta({ description: "How long the response to a probe may take." }),
  reconnect_max_s: seconds(300, 1, 3600).meta({ description: "Maximum delay between two attempts to connect." }),
});

const deploy = z.strictObject({
  settle_window_s: seconds(3, 0, 600).meta({
    description: "How long an app without a health check must stay up to count as deployed.",
  }),
  health_timeout_s: seconds(120, 1, 3600).meta({
    description:
      "How long an app with a health check may take to become healthy, at least: longer if its start period, interval, " +
      "timeout and retries allow more, and what the request says if it sets `health_timeout_s`.",
  }),
  pull_attempts: z.int().min(1).max(100).default(4).meta({
    description: "Attempts to pull an image from a registry that does not answer.",
  }),
  pull: z.enum(["agent", "engine"]).default("agent").meta({
    description:
      "What downloads images: the agent, which continues a layer after a lost connection, or the container engine, which begins the layer again.",
  }),
  pull_patience_s: seconds(600, 10, 86_400).meta({
    description: "How long a download by the agent may bring no data before it fails.",
  }),
  pull_stall_s: seconds(30, 1, 600).meta({
    description: "A connection without data for this long is considered dead, and the download continues over another.",
  }),
  download_dir: z
    .string()
    .startsWith("/", "must be an absolute path")
    .optional()
    .meta({
      description:
        "Directory for layers until the engine has them. By default `downloads` in `state_dir`; the packaged service may write elsewhere only with `ReadWritePaths=` in a drop-in.",
      examples: ["/data/edge-agent/downloads"],
    }),
  keep_downloads_days: z.number().min(0).max(3650).default(7).meta({
    description: "How long a partial download is kept if no deployment continues it.",
  }),
  concurrent_pulls: z.int().min(1).max(16).default(2).meta({ description: "Images pulled at the same time." }),
  engine_patience_s: seconds(60, 0, 3600).meta({
    description: "How long a deployment waits for an engine that stops answering.",
  }),
  max_crashes: z.int().min(1).max(100).default(3).meta({
    description:
      "A deployment during which the agent has crashed this often is given up with `AgentCrashed`; other work, such as the repair of an app, pauses longer each time.",
  }),
  max_download_bytes: z.int().min(0).optional().meta({
    description: "Maximum compressed bytes one deployment may download; with more it fails with `DataBudgetExceeded`.",
  }),
  stop_grace_s: seconds(10, 0, 300).meta({
    description: "How long an app may take to end when it is stopped, before it is killed.",
  }),
  disk_reserve_bytes: z.int().min(0).default(209_715_200).meta({
    description: "Free space that must remain where the engine keeps images; below it nothing is deployed.",
  }),
});

const logFile = z.strictObject({
  write: z.enum(["auto", "always", "never"]).default("auto").meta({
    description:
      "Whether the log is also written to a file; `auto`: if its directory is writable and no journal keeps the log across reboots.",
  }),
  path: z
    .string()
    .startsWith("/", "must be an absolute path")
    .optional()
    .meta({
      description: "Path of the log file, with one JSON object per line.",
      examples: ["/var/log/edge-agent/agent.log"],
    }),
  max_bytes: z.int().min(65_536).default(1_048_576).meta({ description: "Size of one log file." }),
  max_files: z.int().min(1).max(100).default(5).meta({ description: "Log files kept, including the newest." }),
});

const networks = z.strictObject({
  subnets: z
    .array(z.cidrv4())
    .max(16)
    .default([])
    .meta({
      description:
        "IPv4 ranges for the networks of apps, used in this order, one for each network. Default: the engine chooses. For " +
        "sites whose own network is in a range that the engine would take.",
      examples: [["10.90.0.0/24", "10.90.1.0/24"]],
    }),
});

const containerLogs = z.strictObject({
  max_bytes: z.int().min(4096).default(10_485_760).meta({ description: "Size of one log file of an app." }),
  max_files: z.int().min(1).max(100).default(3).meta({ description: "Log files kept per app." }),
});

/** Limits of the device's reports and of its responses to queries. Sizes in bytes. */
const telemetry = z.strictObject({
  reports_max_per_hour: z.int().min(1).max(3600).default(12).meta({
    description:
      "Maximum reports per hour of changes that no deployment made, such as an app that crashes in a loop; further ones wait, and the service shows their age. Results of deployments and the first trouble of an app are reported at once.",
  }),
  logs_max_bytes_per_s: z.int().min(1_024).max(100_000_000).default(32_768).meta({
    description:
      "Maximum bytes per second of an app's log, for each request. Existing lines are sent at this rate. Of new lines that exceed it, the newest wait, up to 16 KiB or one second; older ones are left out and counted.",
  }),
  logs_max_bytes: z.int().min(1_024).default(4_194_304).meta({
    description: "Maximum bytes of an app's log in total, for each request.",
  }),
  health: z.boolean().default(true).meta({
    description:
      "Whether the device samples its use of processors, memory and disk, its temperature, and what its apps use, every minute, and keeps that for 48 hours in two files of 240 KiB together.",
  }),
  health_reports_per_day: z.int().min(0).max(96).default(24).meta({
    description:
      "How many times a day the device sends that to the service, as rows of 15 minutes; 0: only when it asks.",
  }),
});

/** Limits of what operators open to apps. */
const remoteAccess = z.strictObject({
  idle_s: seconds(900, 30, 86_400).meta({
    description: "A stream to an app is closed after nothing was sent over it for this long.",
  }),
  max_streams: z.int().min(1).max(64).default(16).meta({
    description: "Maximum number of streams at a time. A browser opens about six for a page.",
  }),
  max_bytes_per_s: z.int().min(1_024).optional().meta({
    description:
      "Maximum bytes per second of all streams together, in both directions; without it, what the link carries.",
  }),
});

/** Automatic removal of images that the agent pulled itself and that can be pulled again. */
const cleanup = z.strictObject({
  enabled: z.boolean().default(true).meta({
    description: "Whether images that the agent pulled and no app needs any more are removed automatically.",
  }),
  keep_images_days: z.number().min(0).max(3650).default(7).meta({
    description: "Days an image is kept after an app last needed it.",
  }),
  low_disk_percent: z.number().min(0).max(100).default(15).meta({
    description:
      "With less than this share of the disk free, images that no app needs are removed at once, and the report says so.",
  }),
});

/** Read by the updater, which runs as root. */
const agentUpdates = z.strictObject({
  downgrade: z.boolean().default(false).meta({
    description:
      "Whether a release of the agent that is older than what runs may be installed, where the request asks for that.",
  }),
  trial_s: z.int().min(30).max(86_400).default(900).meta({
    description:
      "How long a new release of the agent may take to confirm that it works, before the device goes back to the version before.",
  }),
});

export const configSchema = z
  .strictObject({
    control_plane_url: z
      .url({ protocol: /^wss?$/, error: "must be a URL that begins with wss:// (or ws://)" })
      .meta({ description: "Address of the control plane.", examples: ["wss://control.example.com/v1/agent"] }),
    device_token: z.string().min(1).optional().meta({
      description: "The token that identifies this device. Either this or `device_token_file`.",
    }),
    device_token_file: z
      .string()
      .min(1)
      .optional()
      .meta({
        description: "File that holds the token; keep it readable by the service only.",
        examples: ["/etc/edge-agent/token"],
      }),
    state_dir: z.string().startsWith("/", "must be an absolute path").default(DEFAULT_STATE_DIR).meta({
      description: "Directory for the agent's own data. Only one agent may use it.",
    }),
    allow_insecure: z.boolean().default(false).meta({
      description: "Allows ws:// to hosts other than this one. The token then travels unencrypted.",
    }),
    extra_ca_file: z.string().min(1).optional().meta({
      description: "PEM file with certificate authorities to trust in addition to the system's.",
    }),
    engine: z
      .strictObject({
        socket: z
          .string()
          .startsWith("/", "must be an absolute path")
          .optional()
          .meta({
            description: "Socket of the container engine. Found automatically by default.",
            examples: ["/run/podman/podman.sock"],
          }),
      })
      .prefault({}),
    log: z
      .strictObject({
        level: z.enum(LOG_LEVELS).default("info").meta({ description: "Least severe level that is logged." }),
        file: logFile.prefault({}),
      })
      .prefault({}),
    local: z
      .strictObject({
        socket: z
          .string()
          .startsWith("/", "must be an absolute path")
          .max(107, "is too long for the path of a socket")
          .optional()
          .meta({
            description:
              "Socket for the commands on the device; access to it grants all rights on the device. By default in /run/edge-agent if that exists, else in `state_dir`. A read-only socket is in the same directory: `agent-read.sock` for `agent.sock`.",
            examples: ["/run/edge-agent/agent.sock"],
          }),
      })
      .prefault({}),
    link: link.prefault({}),
    deploy: deploy.prefault({}),
    telemetry: telemetry.prefault({}),
    cleanup: cleanup.prefault({}),
    agent_updates: agentUpdates.prefault({}),
    data: data.prefault({}),
    container_logs: containerLogs.prefault({}),
    networks: networks.prefault({}),
    policy: policy.prefault({}),
    remote_access: remoteAccess.prefault({}),
    registries: registries.meta({ description: "Registries that need credentials or trust settings." }),
    docker_config_file: z
      .string()
      .startsWith("/", "must be an absolute path")
      .optional()
      .meta({
        description:
          "A Docker config.json whose logins and credential helpers are used for registries not listed here.",
        examples: ["/etc/edge-agent/docker-config.json"],
      }),
  })
  .superRefine((config, context) => {
    if ((config.device_token === undefined) === (config.device_token_file === undefined)) {
      context.addIssue({
        code: "custom",
        path: ["device_token"],
        message: "set either device_token or device_token_file",
      });
    }
    if (!config.allow_insecure && isUnencryptedAbroad(config.control_plane_url)) {
      context.addIssue({
        code: "custom",
        path: ["control_plane_url"],
        message: "ws:// is for this machine only; use wss://, or set allow_insecure",
      });
    }
  });

/** The content of the configuration file, with defaults. */
export type ConfigFile = z.output<typeof configSchema>;

function isUnencryptedAbroad(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === "ws:" && !isLoopback(url.hostname);
}
