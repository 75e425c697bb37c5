import type { Value } from "../documents/value.ts";
import type { Lookup } from "./interpolate.ts";

interface Selection {
  readonly services: ReadonlyMap<string, Value>;
  /** The profiles of the services that are left out. */
  readonly inactive: ReadonlyMap<string, readonly string[]>;
}

interface ProfileOptions {
  readonly lookup: Lookup;
  /** Given on the command line; `*` for all. */
  readonly profiles?: readonly string[];
}

/** Leaves out the services that are only in profiles that were not chosen, as compose does. */
export function selectServices(services: ReadonlyMap<string, Value>, options: ProfileOptions): Selection {
  const chosen = new Set([...(options.profiles ?? []), ...(options.lookup("COMPOSE_PROFILES") ?? "").split(",")]);
  const inactive = new Map<string, readonly string[]>();
  for (const [name, service] of services) {
    const profiles = (service.isMap ? service.fields().get("profiles")?.textOrTexts() : undefined) ?? [];
    if (profiles.length === 0 || chosen.has("*") || profiles.some((profile) => chosen.has(profile))) continue;
    inactive.set(name, profiles);
    service.note(`is not applied: it is in the profile ${profiles.join(", ")}, which --profile chooses.`);
  }
  return { services: new Map([...services].filter(([name]) => !inactive.has(name))), inactive };
}

/** A profile to name in a message. */
export function profileOf(inactive: ReadonlyMap<string, readonly string[]>): string {
  const [[profile = ""] = []] = inactive.values();
  return profile;
}
