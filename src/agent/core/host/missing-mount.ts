import { normalizePath } from "../../../protocol/values/normalize-path.ts";

/** A volume whose path does not exist on the device. */
export interface MissingMount {
  /** As requested. */
  readonly local: string;
  /** What the image has at the volume's target; `undefined` if nothing. */
  readonly inImage: { readonly kind: "file" | "directory" | "other" } | undefined;
}

/** Returns what the app expects at the volume's path: a file only a person can give it; a directory can begin empty. */
export function expectedMount({ local, inImage }: MissingMount): "file" | "directory" {
  if (inImage) return inImage.kind === "directory" ? "directory" : "file";
  return FILE_EXTENSION.test(local) ? "file" : "directory";
}

/** Extensions of the files that apps commonly mount one by one. */
const FILE_EXTENSION =
  /[^/]\.(?:conf|cfg|cnf|ini|env|json5?|ya?ml|toml|xml|properties|txt|html?|js|mjs|lua|py|sh|sql|db|sqlite3?|log|crt|cer|key|pem|p12|pub|sock)$/i;

/** Directories that are empty after each start of the device. */
const VOLATILE = ["/run", "/var/run", "/tmp", "/dev/shm"];
/** Where disks are mounted in one of them. */
const DISKS = ["/run/media", "/run/mount", "/var/run/media", "/var/run/mount"];

/**
 * Whether a path that was there is only gone because the device was started since. Another one may belong to a disk that
 * is not mounted: an app's data must not go to another one.
 */
export function isVolatile(local: string): boolean {
  const path = normalizePath(local);
  const isIn = (directory: string): boolean => path.startsWith(`${directory}/`);
  return VOLATILE.some(isIn) && !DISKS.some(isIn);
}
