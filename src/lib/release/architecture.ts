const NAMES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** Returns OCI's name of an architecture. @param name as in `process.arch` */
export function ociArchitecture(name: string): string {
  return NAMES[name] ?? name;
}
