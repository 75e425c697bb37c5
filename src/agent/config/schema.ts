import { z } from "zod";
import { data } from "./data.ts";
import { DEFAULT_STATE_DIR } from "./default-paths.ts";
import { registries } from "./registries.ts";
import { LOG_LEVELS } from "../../lib/log/levels.ts";
import { isLoopback } from "../core/net/hostname.ts";
import { cleanup } from "./cleanup.ts";
import { telemetry } from "./telemetry.ts";
import "./uncompiled-schemas.ts";

/*
 * The agent's configuration file, once: the example file, the reference in the documentation and the JSON Schema are
 * generated from this. Durations are in seconds and sizes in bytes, as the names say.
 */

const seconds = (fallback: number, min: number, max: number) => z.number().min(min).max(max).default(fallback);

const link = z.strictObject({
  keepalive_s: seconds(600, 10, 3600).meta({
    description:
      "Silence after which the link is probed on a network nothing is known of yet. Every probe costs about 200 bytes of the data plan.",
  }),
  keepalive_min_s: seconds(60, 10, 3600).meta({
    description: "Shortest such silence, on networks that forget idle connections soon.",
  }),
  keepalive_max_s: seconds(1800, 10, 3600).meta({
    description:
      "Longest such silence, on networks that keep them. A device whose connection is lost unnoticed cannot be reached for as long.",
  }),
  pong_timeout_s: seconds(20, 1, 300).meta({ description: "How long an answer to a probe may take." }),
  reconnect_max_s: seconds(300, 1, 3600).meta({ description: "Longest pause between two attempts to connect." }),
});

const deploy = z.strictObject({
  settle_window_s: seconds(3, 0, 600).meta({
    description: "How long an app without a health check must stay up to count as deployed.",
  }),
  health_timeout_s: seconds(120, 1, 3600).meta({
    description: "How long an app with a health check may take to become healthy.",
  }),
  pull_attempts: z.int().min(1).max(100).default(4).meta({
    description: "Attempts to pull an image from a registry that does not answer.",
  }),
  pull: z.enum(["agent", "engine"]).default("agent").meta({
    description:
      "Who downloads images: the agent, which goes on where a cut link stopped it, or the container engine, which begins a layer again.",
  }),
  pull_patience_s: seconds(600, 10, 86_400).meta({
    description: "A download that the agent has begun is given up when nothing came for so long.",
  }),
  pull_stall_s: seconds(30, 1, 600).meta({
    description:
      "A connection that brings nothing for so long is taken for dead, and the download goes on over another.",
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
    description: "How long a partial download is kept that no deployment goes on with.",
  }),
  concurrent_pulls: z.int().min(1).max(16).default(2).meta({ description: "Images pulled at the same time." }),
  engine_patience_s: seconds(60, 0, 3600).meta({
    description: "How long an engine that stops answering during a deployment is waited for.",
  }),
  max_download_bytes: z.int().min(0).optional().meta({
    description: "Most compressed bytes one deployment may download; a higher price is `DataBudgetExceeded`.",
  }),
  stop_grace_s: seconds(10, 0, 300).meta({
    description: "How long an app that is stopped may take to end by itself before it is killed.",
  }),
  disk_reserve_bytes: z.int().min(0).default(209_715_200).meta({
    description: "Free space that must remain where the engine keeps images; below it nothing is deployed.",
  }),
});

const logFile = z.strictObject({
  write: z.enum(["auto", "always", "never"]).default("auto").meta({
    description:
      "Whether the log is also written into a file; `auto`: where its directory is there and no journal keeps the log over a reboot.",
  }),
  path: z
    .string()
    .startsWith("/", "must be an absolute path")
    .optional()
    .meta({ description: "The file, one JSON object a line.", examples: ["/var/log/edge-agent/agent.log"] }),
  max_bytes: z.int().min(65_536).default(1_048_576).meta({ description: "Size of one log file." }),
  max_files: z.int().min(1).max(100).default(5).meta({ description: "Log files kept, the newest included." }),
});

const containerLogs = z.strictObject({
  max_bytes: z.int().min(4096).default(10_485_760).meta({ description: "Size of one log file of an app." }),
  max_files: z.int().min(1).max(100).default(3).meta({ description: "Log files kept per app." }),
});

const prefixes = z.array(z.string().startsWith("/", "must be an absolute path")).default([]);

const policy = z.strictObject({
  privileged: z.boolean().default(true).meta({ description: "Whether apps may be privileged." }),
  host_network: z.boolean().default(true).meta({ description: "Whether apps may use the host's network." }),
  mounts: z
    .strictObject({
      allow: prefixes.meta({
        description:
          "Path prefixes apps may mount, as written; empty for all. Also the way to allow a guarded path, such as the engine's socket.",
      }),
      deny: prefixes.meta({
        description: "Path prefixes apps may never mount, nor where they lead, nor a directory that holds one.",
      }),
    })
    .prefault({}),
  max_image_bytes: z.int().min(1).optional().meta({
    description: "Largest image that is downloaded, in compressed bytes, whether parts of it are there or not.",
  }),
  devices: z
    .strictObject({
      allow: prefixes.meta({ description: "Path prefixes of device files apps may use; empty for all." }),
      deny: prefixes.meta({ description: "Path prefixes of device files apps may never use." }),
    })
    .optional()
    .meta({
      description:
        "Which device files apps may use. Left out, every one if apps may be privileged, and none otherwise.",
    }),
  registries: z
    .strictObject({
      allow: z.array(z.string().min(1)).default([]).meta({
        description: "Registry hosts images may come from, `docker.io` for references without one; empty for all.",
      }),
    })
    .prefault({}),
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
      description: "Directory for what the agent must remember. Only one agent may use it.",
    }),
    allow_insecure: z.boolean().default(false).meta({
      description: "Allows ws:// to hosts other than this one. The token then travels unencrypted.",
    }),
    extra_ca_file: z.string().min(1).optional().meta({
      description: "PEM file with certificate authorities to trust beside the system's.",
    }),
    engine: z
      .strictObject({
        socket: z
          .string()
          .startsWith("/", "must be an absolute path")
          .optional()
          .meta({
            description: "Socket of the container engine. Found by itself where left out.",
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
          .max(107, "is longer than the path of a socket may be")
          .optional()
          .meta({
            description:
              "Socket for the commands given on the device; who may use it has all rights on it. By default in /run/edge-agent where there is one, else in `state_dir`. Beside it is one for reading only: `agent-read.sock` beside `agent.sock`.",
            examples: ["/run/edge-agent/agent.sock"],
          }),
      })
      .prefault({}),
    link: link.prefault({}),
    deploy: deploy.prefault({}),
    telemetry: telemetry.prefault({}),
    cleanup: cleanup.prefault({}),
    data: data.prefault({}),
    container_logs: containerLogs.prefault({}),
    policy: policy.prefault({}),
    registries: registries.meta({ description: "Registries that want credentials, or are not trusted as they are." }),
    docker_config_file: z
      .string()
      .startsWith("/", "must be an absolute path")
      .optional()
      .meta({
        description:
          "A config.json of Docker whose logins and credential helpers serve for registries not listed here.",
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

/** The configuration as read, defaults filled in. */
export type ConfigFile = z.output<typeof configSchema>;

function isUnencryptedAbroad(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === "ws:" && !isLoopback(url.hostname);
}
