import { normalizePath } from "../../../protocol/normalize-path.ts";

/** A volume whose path does not exist on the device. */
export interface MissingMount {
  /** As requested. */
  readonly local: string;
  /** What the image has at the volume's target; `undefined` if nothing. */
  readonly inImage: { readonly kind: "file" | "directory" | "other" } | undefined;
  /** Whether the installed app has this path too: then it was there. */
  readonly isInstalled: boolean;
}

/**
 * - `make`: a directory, to begin empty
 * - `file`: the app expects a file, which only a person can give it
 * - `gone`: it was there, so its file system may not be mounted: data must not go to another one
 */
export type MissingMountDecision = "make" | "file" | "gone";

/** Decides what to do about a volume whose path does not exist on the device. */
export function decideMissingMount({ local, inImage, isInstalled }: MissingMount): MissingMountDecision {
  if (inImage && inImage.kind !== "directory") return "file";
  if (isInstalled && !isVolatile(local)) return "gone";
  if (inImage || local.endsWith("/")) return "make";
  return FILE_EXTENSION.test(local) ? "file" : "make";
}

/** Extensions of the files that apps commonly mount one by one. */
const FILE_EXTENSION =
  /[^/]\.(?:conf|cfg|cnf|ini|env|json5?|ya?ml|toml|xml|properties|txt|html?|js|mjs|lua|py|sh|sql|db|sqlite3?|log|crt|cer|key|pem|p12|pub|sock)$/i;

/** Directories that are empty after each start of the device. */
const VOLATILE = ["/run", "/var/run", "/tmp", "/dev/shm"];
/** Where disks are mounted in one of them. */
const DISKS = ["/run/media", "/run/mount", "/var/run/media", "/var/run/mount"];

function isVolatile(local: string): boolean {
  const path = normalizePath(local);
  const isIn = (directory: string): boolean => path.startsWith(`${directory}/`);
  return VOLATILE.some(isIn) && !DISKS.some(isIn);
}
