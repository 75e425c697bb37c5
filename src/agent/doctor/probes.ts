import type { ProbedCheckId } from "../core/doctor/checks.ts";
import type { Probe } from "./probe.ts";
import { probeCgroups } from "./probes/cgroups.ts";
import { probeClock } from "./probes/clock.ts";
import { probeConfig, probeCredentials } from "./probes/config.ts";
import { probeDisk } from "./probes/disk.ts";
import { probeDns } from "./probes/dns.ts";
import { probeEngine } from "./probes/engine.ts";
import { probeFiles } from "./probes/files.ts";
import { probeInterface } from "./probes/interface.ts";
import { probeModem } from "./probes/modem.ts";
import { probeNames } from "./probes/names.ts";
import { probePermissions } from "./probes/permissions.ts";
import { probePorts } from "./probes/ports.ts";
import { probeProxy } from "./probes/proxy.ts";
import { probePublishing } from "./probes/publishing.ts";
import { probeRegistry } from "./probes/registry.ts";
import { probeCrashes, probeStore } from "./probes/store.ts";
import { probeReleases } from "./probes/releases.ts";
import { probeTcp } from "./probes/tcp.ts";
import { probeTls } from "./probes/tls.ts";
import { probeToken } from "./probes/token.ts";
import { probeVolumes } from "./probes/volumes.ts";

/** The probe of each check. A missing one does not compile. */
export const PROBES: Readonly<Record<ProbedCheckId, Probe>> = {
  config: probeConfig,
  credentials: probeCredentials,
  permissions: probePermissions,
  store: probeStore,
  crashes: probeCrashes,
  clock: probeClock,
  interface: probeInterface,
  modem: probeModem,
  dns: probeDns,
  tcp: probeTcp,
  proxy: probeProxy,
  tls: probeTls,
  token: probeToken,
  engine: probeEngine,
  publishing: probePublishing,
  names: probeNames,
  volumes: probeVolumes,
  registry: probeRegistry,
  disk: probeDisk,
  files: probeFiles,
  ports: probePorts,
  cgroups: probeCgroups,
  releases: probeReleases,
};
