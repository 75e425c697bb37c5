/** Longest name that is compared. No field of the project is longer. */
const MAX_NAME_LENGTH = 48;

const MAX_DISTANCE = 2;

/** Units at the end of field names. */
const UNITS = /_(?:s|ms|days|bytes|limit|policy|percent|url)$/;

/**
 * Names for the same thing in compose files, in Kubernetes, in Docker's API and on command lines, without separators. The
 * first that is a field at the place in question is suggested.
 */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  addhost: ["extra_hosts"],
  arg: ["command"],
  args: ["command"],
  auth: ["registry_auth"],
  bind: ["volumes"],
  binds: ["volumes"],
  ca: ["ca_file", "extra_ca_file"],
  cacert: ["ca_file", "extra_ca_file"],
  cafile: ["ca_file", "extra_ca_file"],
  cmd: ["command"],
  containername: ["name"],
  containerpath: ["target"],
  containerport: ["target_port"],
  cpu: ["cpu_limit"],
  cpus: ["cpu_limit"],
  capabilities: ["cap_add"],
  credentials: ["registry_auth"],
  dest: ["target"],
  destination: ["target"],
  dst: ["target"],
  env: ["environments"],
  environment: ["environments"],
  environmentvariables: ["environments"],
  envs: ["environments"],
  envvars: ["environments"],
  health: ["healthcheck"],
  hostaliases: ["extra_hosts"],
  hostpath: ["local"],
  imagename: ["image"],
  livenessprobe: ["healthcheck"],
  logging: ["log"],
  login: ["username"],
  mem: ["memory_limit"],
  memlimit: ["memory_limit"],
  memory: ["memory_limit"],
  mode: ["permissions"],
  mount: ["volumes", "mounts"],
  mountpath: ["target"],
  mounts: ["volumes"],
  name: ["key"],
  network: ["host_network"],
  networkmode: ["host_network"],
  pass: ["password"],
  path: ["local"],
  port: ["ports", "host_port", "listen"],
  proto: ["protocol"],
  published: ["host_port"],
  repository: ["image"],
  restart: ["restart_policy"],
  ro: ["readonly"],
  server: ["control_plane_url"],
  serverurl: ["control_plane_url"],
  source: ["local"],
  src: ["local"],
  runasuser: ["user"],
  startperiod: ["start_period_s"],
  stopgraceperiod: ["stop_grace_s"],
  stoptimeout: ["stop_grace_s"],
  tag: ["image"],
  test: ["command"],
  token: ["device_token"],
  tokenfile: ["device_token_file"],
  url: ["control_plane_url"],
  user: ["username"],
  variables: ["environments"],
  vars: ["environments"],
  workdir: ["working_dir"],
};

/**
 * Returns the known name that an unknown one probably means: the same in other letters, another program's word for it, the
 * same with a unit, or one that is at most two typing errors away.
 */
export function closestName(unknown: string, known: readonly string[]): string | undefined {
  if (unknown.length > MAX_NAME_LENGTH) return undefined;
  const plain = letters(unknown);
  if (plain === "") return undefined;
  const aliases = Object.hasOwn(ALIASES, plain) ? (ALIASES[plain] ?? []) : [];
  return (
    known.find((name) => letters(name) === plain) ??
    aliases.find((alias) => known.includes(alias)) ??
    known.find((name) => letters(name.replace(UNITS, "")) === plain) ??
    nearest(unknown, known)
  );
}

/** Without separators and upper case, so that `hostPort`, `host-port` and `host_port` are the same. */
function letters(name: string): string {
  return name.replaceAll(/[-_.\s]/g, "").toLowerCase();
}

function nearest(unknown: string, known: readonly string[]): string | undefined {
  const plain = letters(unknown);
  // A short name becomes any other with two changes.
  const allowed = Math.min(MAX_DISTANCE, Math.floor(plain.length / 3));
  const ranked = known
    .map((name) => ({ name, distance: editDistance(plain, letters(name)) }))
    .filter(({ distance }) => distance <= allowed)
    // Of two that are as near, such as `no_healthcheck` and `healthcheck` to `o_healthcheck`, the one with the same separators.
    .toSorted((a, b) => a.distance - b.distance || editDistance(unknown, a.name) - editDistance(unknown, b.name));
  return ranked[0]?.name;
}

/** Insertions, deletions, substitutions and swaps of neighbours that make one text of the other (optimal string alignment). */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}
