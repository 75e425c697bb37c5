import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { EventContent } from "../../../protocol/deployments/deployment-event.ts";
import { formatWholeMegabytes } from "../text.ts";
import type { HostCapacity, Refusal } from "./check.ts";
import { runningEvent } from "./step-events.ts";

/** What the checks of an app's container options depend on. */
export interface OptionFacts {
  readonly capacity: HostCapacity;
  /** Whether the engine offers GPUs; `undefined` if it was not asked. */
  readonly gpus?: boolean | undefined;
  /** Absent where no check depends on it. */
  readonly engine?: "docker" | "podman" | undefined;
  /** Whether the engine can mount a directory of a volume. Absent where no check depends on it. */
  readonly volumeSubpaths?: boolean | undefined;
}

/** Returns why the device cannot run the app with its container options. */
export function findOptionRefusal(spec: AppSpec, facts: OptionFacts): Refusal | undefined {
  const { capacity, gpus, engine } = facts;
  for (const [field, bytes] of memorySizes(spec)) {
    if (bytes <= capacity.memoryBytes) continue;
    return {
      code: "InvalidRequest",
      message: `The device has ${formatWholeMegabytes(capacity.memoryBytes)} MB of memory; ${field} is ${formatWholeMegabytes(bytes)} MB.`,
      details: { [field]: bytes, memory_bytes: capacity.memoryBytes },
    };
  }
  const owned = engine === "podman" ? (spec.tmpfs ?? []).findIndex(({ owner }) => owner !== undefined) : -1;
  if (owned !== -1) {
    return {
      code: "InvalidRequest",
      message: `Podman gives every \`tmpfs\` to root: leave tmpfs[${owned}].owner out. With mode 1777, the default, every user of the app may write there.`,
      details: { tmpfs: owned },
    };
  }
  if (engine === "podman" && (spec.device_cgroup_rules ?? []).length > 0) {
    return {
      code: "InvalidRequest",
      message:
        "Podman ignores `device_cgroup_rules`: name the device files in `devices`, which gives the app those that are there when " +
        "it is created.",
      details: { device_cgroup_rules: spec.device_cgroup_rules },
    };
  }
  return findSubpathRefusal(spec, facts) ?? findGpuRefusal(spec, gpus);
}

/** An engine that lacks it would mount the whole volume, which is more than the app is to see. */
function findSubpathRefusal({ volumes }: AppSpec, { volumeSubpaths }: OptionFacts): Refusal | undefined {
  const index = volumes.findIndex((volume) => !("local" in volume) && volume.subpath !== undefined);
  if (index === -1 || volumeSubpaths !== false) return undefined;
  return {
    code: "InvalidRequest",
    message:
      `The container engine of the device cannot mount a directory of a volume, as volumes[${index}].subpath asks: Docker can from ` +
      "26 on. Update it, or give the directory a volume of its own.",
    details: { issues: [{ path: `volumes[${index}].subpath`, reason: "is not supported by the device's engine" }] },
  };
}

function findGpuRefusal(spec: AppSpec, gpus: boolean | undefined): Refusal | undefined {
  if (spec.gpus === undefined || gpus !== false) return undefined;
  return {
    code: "InvalidRequest",
    message:
      "The container engine of the device offers no GPUs. For Docker, install NVIDIA's Container Toolkit on the device " +
      "and run `nvidia-ctk runtime configure`; Podman gives none to apps. Or leave `gpus` out.",
    details: { gpus: spec.gpus },
  };
}

/** Sizes of what the app keeps in memory beside its processes. */
function memorySizes({ shm_size = 0, tmpfs = [] }: AppSpec): [field: string, bytes: number][] {
  return [
    ["shm_size", shm_size],
    ...tmpfs.map(({ size_bytes = 0 }, index): [string, number] => [`tmpfs[${index}].size_bytes`, size_bytes]),
  ];
}

/** Reports options that change nothing, since a privileged app has every capability. */
export function optionNotes({ privileged, cap_add = [], cap_drop = [] }: AppSpec): EventContent[] {
  if (!privileged || cap_add.length + cap_drop.length === 0) return [];
  const message =
    "A privileged app has every capability: cap_add changes nothing, and with Docker neither does cap_drop.";
  return [runningEvent("checking", message)];
}
