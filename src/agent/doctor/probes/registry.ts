import { errorText } from "../../../lib/error-text.ts";
import type { CheckResult } from "../../core/doctor/checks.ts";
import { canonicalRegistry } from "../../../lib/registry/address.ts";
import { imageAddress } from "../../registry/address.ts";
import type { RegistryErrorKind } from "../../core/error-kind.ts";
import { RegistryError } from "../../registry/registry-error.ts";
import type { RegistryPing } from "../../registry/registry-ping.ts";
import { bad, configOf, good, type ProbeContext, type Probe, warning } from "../probe.ts";

/** Maximum number of registries checked. */
const MAX_REGISTRIES = 8;

const NEXT: Partial<Record<RegistryErrorKind, string>> = {
  image_denied:
    "Correct the credentials: registries in the configuration, or docker login where docker_config_file is set.",
  registry_untrusted:
    "Put its authority's certificate into registries[].ca_file, or into /etc/docker/certs.d/HOST:PORT/ca.crt for the engine too.",
  refused_target:
    "Ask who runs the registry. A token server on a host of another domain is to be listed in registries[].auth_hosts.",
  foreign_answer: "Log in to the network in a browser behind the same link, or have it let the registry through.",
  rate_limited: "Wait; with an account of one's own the registry allows more.",
};
const DEFAULT_ADVICE =
  "Check its name and port, and whether this network lets it through. Apps that are installed go on without it.";

/** The configured registries, and those of the installed apps, respond and accept the credentials. */
export const probeRegistry: Probe = async (context, signal) => {
  const config = configOf(context);
  const configured = config.registries.map(({ host }) => canonicalRegistry(host));
  const targets = new Map<string, string | undefined>(configured.map((registry) => [registry, undefined]));
  for (const [registry, repository] of await usedRegistries(context)) targets.set(registry, repository);
  if (targets.size === 0) return good("None is configured, and no app is installed.");
  const ping = await context.createRegistryPing(config);
  const checked = [...targets].slice(0, MAX_REGISTRIES);
  const verdicts = await Promise.all(
    checked.map(async ([registry, repository]) => {
      const target = { registry, repository };
      if (configured.includes(registry)) return await pingRegistry(ping, target, () => true, signal);
      return downgradeToWarning(await pingRegistry(ping, target, () => engineResponds(context, signal), signal));
    }),
  );
  const broken = verdicts.filter(({ verdict }) => verdict !== "good");
  const [first] = broken;
  const text = (broken.length > 0 ? broken : verdicts).map((verdict) => verdict.text).join(" ");
  if (!first) return good(text);
  const worst = broken.find(({ verdict }) => verdict === "bad") ?? first;
  return { ...worst, text };
};

/** Returns the registries of the installed apps, each with one of their repositories. */
async function usedRegistries(context: ProbeContext): Promise<[registry: string, repository: string][]> {
  try {
    using store = await context.openStore(configOf(context).state_dir);
    return store.apps().flatMap(({ spec }) => {
      try {
        const { registry, repository } = imageAddress(spec.image);
        return [[registry, repository] as [string, string]];
      } catch {
        return [];
      }
    });
  } catch {
    // No store yet, or no permission to read it: another check reports that.
    return [];
  }
}

/** Installed apps run without their registry: only their next update is at risk. */
function downgradeToWarning({ verdict, text, next }: CheckResult): CheckResult {
  return verdict === "bad"
    ? warning(text, next ?? DEFAULT_ADVICE)
    : { verdict, text, ...(next !== undefined && { next }) };
}

async function pingRegistry(
  ping: RegistryPing,
  target: Parameters<RegistryPing>[0],
  isTrustKnown: () => boolean | Promise<boolean>,
  signal: AbortSignal,
): Promise<CheckResult> {
  const { registry } = target;
  try {
    const result = await ping(target, signal);
    if (result === "no_credentials_needed") return good(`${registry} answers.`);
    if (result === "accepted") return good(`${registry} takes the credentials.`);
    return good(`${registry} answers, and wants credentials; none are configured, so deployments have to bring them.`);
  } catch (error) {
    if (signal.aborted) return bad(`${registry} does not answer.`, DEFAULT_ADVICE);
    const kind = error instanceof RegistryError ? error.kind : "registry_unreachable";
    if (kind === "registry_untrusted" && !(await isTrustKnown())) {
      return good(
        `${registry} answers; whether it may without a trusted certificate is the container engine's to say.`,
      );
    }
    const text = `${errorText(error)}.`;
    const next = NEXT[kind] ?? DEFAULT_ADVICE;
    return kind === "rate_limited" ? warning(text, next) : bad(text, next);
  }
}

/**
 * Whether the engine responds. The agent accepts the engine's insecure registries, which it cannot know while the engine is
 * down.
 */
async function engineResponds({ engine }: ProbeContext, signal: AbortSignal): Promise<boolean> {
  return await engine.identify(signal).then(
    () => true,
    () => false,
  );
}
