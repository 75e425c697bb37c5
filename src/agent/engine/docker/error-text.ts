import { parseImageReference } from "../../../protocol/apps/image-reference.ts";
import type { EngineErrorKind } from "../../core/error-kind.ts";

type Rule = readonly [EngineErrorKind, RegExp];

const NO_SPACE: Rule = ["no_space", /no space left on device|ENOSPC|disk quota exceeded|not enough (?:disk )?space/i];

const PAGE = /invalid character '<' looking for beginning of value/;

// Engines have no error codes. These are texts of Docker 20.10 to 29, Podman 4.3 to 5, and the registries and libraries
// behind them. The first match wins, so more specific texts come first.
const PULL_RULES: readonly Rule[] = [
  NO_SPACE,
  ["wrong_platform", /no matching manifest for|no match for platform|no image found in (?:manifest list|image index)/i],
  ["wrong_platform", /does not match the (?:specified|expected|detected) platform|cannot be used on this platform/i],
  ["image_denied", /pull access denied|unauthorized|authentication required|no basic auth credentials/i],
  [
    "image_denied",
    /requested access to the resource is denied|(?<!permission )\bdenied\b|\bforbidden\b|invalid username\/password/i,
  ],
  ["image_not_found", /manifest unknown|name unknown|repository does not exist|manifest .*not found/i],
  [
    "image_not_found",
    /repository .*not found|reading manifest .*: not found|name invalid|failed to resolve .*not found/i,
  ],
  ["corrupt_layer", /failed commit on ref|unexpected commit (?:digest|size)/],
  // Not a handshake that was too slow or was cut, which may pass by itself.
  ["registry_untrusted", /x509:|tls: failed to verify|certificate (?:signed by|is not|has expired|relies on)/i],
  ["registry_untrusted", /HTTP response to HTTPS client|tls: first record does not look like a TLS handshake/i],
  [
    "registry_unreachable",
    /connection (?:refused|reset)|no route to host|network is (?:unreachable|down)|broken pipe/i,
  ],
  [
    "registry_unreachable",
    /no such host|server misbehaving|name resolution|i\/o timeout|timed? ?out|deadline exceeded/i,
  ],
  ["registry_unreachable", /\bEOF\b|\btls\b|Client\.Timeout|request canceled/i],
  ["registry_unreachable", /toomanyrequests|too many requests|received unexpected HTTP status|service unavailable/i],
  ["registry_unreachable", /bad gateway|internal server error|\bstatus(?: code)?:? 5\d\d\b|\b5\d\d (?:gateway|error)/i],
  ["wrong_content", /verification failed|unexpected digest/i],
  ["registry_unreachable", /error pinging|pinging container registry/i],
  // A page in HTML in place of a registry's answer, in words of Go's parser.
  ["registry_unreachable", PAGE],
  ["image_not_found", /\bnot found\b/i],
  ["invalid", /invalid reference format|invalid tag|repository name must be/i],
];

const CONTAINER_RULES: readonly Rule[] = [
  NO_SPACE,
  ["rules_lost", /\bip6?tables\b.*(?:No chain\/target\/match by that name|Chain '?\S+?'? does not exist)/is],
  // Not that there is no nft, which a restart does not bring.
  ["rules_lost", /^(?!.*unable to execute).*\bnft\b.*(?:No such file or directory|does not exist)/is],
  ["bridge_lost", /could not find bridge|adding interface \S+ to bridge \S+ failed/i],
  ["conflict", /container name .*already in use|name is already in use|removal of container .*in progress/i],
  // Docker renames the network namespace too, which a container between two runs does not have.
  ["between_runs", /^sandbox \S+ not found/i],
  // The log of a container that is being removed: a moment later, it is not found.
  ["not_found", /get logs from container which is dead or marked for removal/i],
  ["port_in_use", /port is already allocated|address already in use|ports are not available|port .*already in use/i],
  ["image_not_found", /no such image|image not known|unable to find .*image/i],
  ["wrong_platform", /exec format error/i],
  ["network_missing", /\bnetwork (?:with name or ID )?\S+ not found|\bno such network\b|network not found/i],
  ["network_missing", /could not find a network matching/i],
  ["no_addresses", /non-overlapping IPv4 address pool|address pools have been fully subnetted/i],
  ["no_addresses", /no available IPv4 addresses|no IP addresses available in range/i],
  ["no_addresses", /pool overlaps with other one|subnet \S+ is already used|could not find free subnet/i],
  ["conflict", /network (?:with )?name \S+ already (?:exists|used)|network is being used|has active endpoints/i],
  ["invalid", /is not supported: invalid network mode|cannot be connected to (?:multiple|any other) network/i],
  // Before the texts that Podman adds to it.
  ["mount_missing", /bind source path does not exist|\bstatfs \/.*: no such file or directory/i],
  ["mount_missing", /error mounting .* to rootfs at .*: (?:stat|lstat|open) .*: no such file or directory/i],
  ["invalid", /executable file .*not found|OCI runtime attempted to invoke a command that was not found/i],
  ["invalid", /invalid (?:mount|volume|container path|hostPort|port)/i],
  ["invalid", /gathering device information|stat (?:device )?\/dev\/\S+: no such file|not a device node/i],
  // Of a directory in a volume that is not there, or that a link in it leads out of the volume.
  [
    "invalid",
    /path concatenation escapes the base directory|cannot access path \S+: |resolving symlinks in combined path/i,
  ],
  ["invalid", /error while creating mount source path|making volume mountpoint for volume/i],
  ["invalid", /\bstatfs \/.*: not a directory/i],
  // Of the runtime, about what the app mounts and where.
  [
    "invalid",
    /error mounting .* to rootfs at|error reopening \/dev\/|unable to setup user: stat \/dev\/|file name too long/i,
  ],
];

/** Returns the kind of a failed pull by its text; `undefined` if the text is not known. */
export function classifyPullText(text: string, reference: string): EngineErrorKind | undefined {
  // Names are chosen by users and may contain any of these texts.
  const { repository, tag } = parseImageReference(reference) ?? {};
  let rest = text;
  for (const name of [reference, repository, tag]) {
    if (name !== undefined && name.length > 2) rest = rest.replaceAll(name, "NAME");
  }
  return firstMatch(PULL_RULES, rest);
}

/** Returns the kind of a failed call on a container by its text; `undefined` if the text is not known. */
export function classifyContainerText(text: string): EngineErrorKind | undefined {
  return firstMatch(CONTAINER_RULES, text);
}

/** Returns the number of the host port in an error of kind `port_in_use`; `undefined` where the text has none. */
export function parseHostPort(text: string): number | undefined {
  const match = /(?:[\s\]*]|::|\d\.\d{1,3}):(\d{1,5})\b|\bport:? (\d{1,5})(?![\d.])/i.exec(text);
  return match ? Number(match[1] ?? match[2]) : undefined;
}

/** Returns the path on the device in an error of kind `mount_missing`; `undefined` where the text has none. */
export function parseMountSource(text: string): string | undefined {
  const match =
    /bind source path does not exist: (\/.*?)\s*$/s.exec(text) ??
    /\bstatfs (\/.*?): no such file or directory/s.exec(text) ??
    /error mounting \\*"(\/.*?)\\*" to rootfs/s.exec(text);
  return match?.[1];
}

function firstMatch(rules: readonly Rule[], text: string): EngineErrorKind | undefined {
  return rules.find(([, pattern]) => pattern.test(text))?.[0];
}

const MAX_LENGTH = 500;

/**
 * Returns the engine's message as one line of at most 500 characters, without control characters and the client's
 * prefix.
 */
export function cleanMessage(text: string): string {
  const line = text
    .replace(/^\(HTTP code \d+\) (?:.*? - )?/s, "")
    // Podman quotes the whole call before the reason.
    .replace(/^.*\bcopier\.request\{.*\}: (?=copier: )/s, "")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .replace(/^Error response from daemon: /i, "")
    .trim();
  if (PAGE.test(line)) return "the network answers with a page of its own; does it want a login?";
  if (line === "") return "the engine gave no reason";
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line;
}
