/** A platform, as in the OCI image specification. */
export interface Platform {
  /** Such as `linux`. */
  readonly os: string;
  /** Such as `amd64`, `arm64` or `arm`. */
  readonly architecture: string;
  /** Such as `v7`; not set for the architecture's usual variant. */
  readonly variant?: string | undefined;
}

/** Variants of 32-bit ARM, newest first: each also runs programs of the ones after it. */
const ARM_VARIANTS = ["v8", "v7", "v6", "v5"];

/** The variant meant if none is given. */
const USUAL_VARIANT: Readonly<Record<string, string>> = { arm: "v7", arm64: "v8", amd64: "v1" };

const ARCHITECTURE_NAMES: Readonly<Record<string, string>> = {
  aarch64: "arm64",
  armhf: "arm",
  armel: "arm",
  x86_64: "amd64",
  "x86-64": "amd64",
  i386: "386",
  i686: "386",
};

/**
 * Returns the platform of an engine.
 *
 * @param architecture as the engine names its own, such as `arm`
 * @param machine the kernel's name of it, such as `armv6l`: the only source of the variant
 */
export function platformOf(os: string, architecture: string, machine: string): Platform {
  const name = canonicalArchitecture(architecture);
  if (name !== "arm") return { os, architecture: name };
  const [, variant] = /^armv([5-8])/.exec(machine) ?? [];
  // A 32-bit engine on a 64-bit kernel, as is usual on a Raspberry Pi, runs everything up to v7.
  return { os, architecture: name, variant: variant === undefined || variant === "8" ? "v7" : `v${variant}` };
}

/** Returns the platforms whose programs run on this machine, best first. */
export function runnable(platform: Platform): Platform[] {
  const { os } = platform;
  const { architecture, variant } = canonical(platform);
  switch (architecture) {
    case "arm64":
      return [{ os, architecture, variant }, ...arm(os, "v8")];
    case "arm":
      return arm(os, variant ?? "v7");
    case "amd64":
      return [...amd64(os, variant ?? "v1"), { os, architecture: "386" }];
    default:
      return [{ os, architecture, variant }];
  }
}

function arm(os: string, best: string): Platform[] {
  const from = ARM_VARIANTS.indexOf(best);
  const variants = from === -1 ? [best] : ARM_VARIANTS.slice(from);
  return variants.map((variant) => ({ os, architecture: "arm", variant }));
}

function amd64(os: string, best: string): Platform[] {
  const level = Number(/^v([1-4])$/.exec(best)?.[1] ?? 0);
  if (level === 0) return [{ os, architecture: "amd64", variant: best }];
  return Array.from({ length: level }, (_, index) => ({ os, architecture: "amd64", variant: `v${level - index}` }));
}

/**
 * Returns the entry that suits the machine best, or `undefined` if none does. Of equally suitable ones the first is
 * chosen, as engines do. Entries without a platform are ignored.
 */
export function choosePlatform<T extends { readonly platform?: Platform | undefined }>(
  entries: readonly T[],
  machine: Platform,
): T | undefined {
  for (const wanted of runnable(machine)) {
    const found = entries.find(({ platform }) => platform && isSame(platform, wanted));
    if (found) return found;
  }
  return undefined;
}

/** Whether programs of the platform run on the machine. */
export function runsOn(platform: Platform, machine: Platform): boolean {
  return runnable(machine).some((wanted) => isSame(platform, wanted));
}

/** Formats a platform as `linux/arm/v7`, without the variant if it is the usual one. */
export function platformName(platform: Platform): string {
  const { os, architecture, variant } = platform;
  const canonicalName = canonicalArchitecture(architecture);
  const isUsual = variant === undefined || variant === "" || (canonicalName !== "arm" && isUsualVariant(platform));
  return isUsual ? `${os}/${canonicalName}` : `${os}/${canonicalName}/${variant}`;
}

function isUsualVariant(platform: Platform): boolean {
  return canonical(platform).variant === canonical({ ...platform, variant: undefined }).variant;
}

function isSame(a: Platform, b: Platform): boolean {
  const [one, other] = [canonical(a), canonical(b)];
  return one.os === other.os && one.architecture === other.architecture && one.variant === other.variant;
}

function canonical({ os, architecture, variant }: Platform): Platform {
  const name = canonicalArchitecture(architecture);
  const written = variant?.toLowerCase().replace(/^(?=\d)/, "v");
  return { os: os.toLowerCase(), architecture: name, variant: written || USUAL_VARIANT[name] };
}

function canonicalArchitecture(architecture: string): string {
  const name = architecture.toLowerCase();
  return ARCHITECTURE_NAMES[name] ?? name;
}
