import { type PeerCertificate } from "node:tls";
import { deadline } from "../../../lib/clock.ts";
import { formatUtcMinute } from "../../core/text.ts";
import { explainNetworkError } from "../../core/net/network-error.ts";
import { createLinuxNetwork } from "../../host/network.ts";
import { answersSmallRequest, findPortal, openTls } from "../peer.ts";
import { bad, configOf, good, type Probe } from "../probe.ts";
import type { CheckResult } from "../../core/doctor/checks.ts";

/** Of the probe's time, for the handshake; the rest finds out why it fails. Milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 3_500;

/** The control plane's certificate is trusted. */
export const probeTls: Probe = async (context, signal) => {
  const { control_plane_url: address } = configOf(context);
  if (!address.startsWith("wss:")) return good("Not used: control_plane_url begins with ws://.");
  using limit = deadline(context.clock, HANDSHAKE_TIMEOUT_MS, signal);
  try {
    using socket = await openTls(context, limit.signal);
    const certificate = socket.getPeerCertificate();
    if (socket.authorized) return good(`${nameOf(certificate)}, valid until ${formatDate(certificate.valid_to)}.`);
    // Node.js sets the error code, although the type is `Error`.
    const code = String(socket.authorizationError);
    const why = explainNetworkError({ code, message: code }, context.clock.timeOfDay());
    const text = `${nameOf(certificate)} is not trusted: ${why}. ${describeCertificate(certificate)}`;
    return (await portal(address, signal)) ?? bad(text, nextFor(code));
  } catch (error) {
    if (limit.signal.aborted) return await describeSilence(address, signal);
    const found = await portal(address, signal);
    return (
      found ??
      bad(
        `No encrypted connection: ${explainNetworkError(error, context.clock.timeOfDay())}.`,
        "Check the port in control_plane_url: does something speak TLS there?",
      )
    );
  }
};

async function portal(address: string, signal: AbortSignal): Promise<CheckResult | undefined> {
  const host = await findPortal(address, signal);
  return host === undefined ? undefined : describePortal(host);
}

/** What to do about a network that wants a login first. */
export function describePortal(host: string): CheckResult {
  return bad(
    `This network wants a login first: ${host} answers in the place of the control plane.`,
    `Log in at http://${host}/ from this network, or have its operator admit this device`,
  );
}

async function describeSilence(address: string, signal: AbortSignal): Promise<CheckResult> {
  if (!(await answersSmallRequest(address, signal)))
    return bad(
      "No encrypted connection: it does not answer.",
      "Check the port in control_plane_url: does something speak TLS there?",
    );
  const name = createLinuxNetwork().route()?.interface ?? "INTERFACE";
  return bad(
    "Small packets are answered, and large ones get lost: a part of the path carries no packets of full size (MTU).",
    `sudo ip link set dev ${name} mtu 1280, and the same in this network's configuration`,
  );
}

function nextFor(code: string): string {
  if (code === "CERT_HAS_EXPIRED") {
    return "If this device's clock is right, the control plane needs a new certificate: tell its operator.";
  }
  if (code === "CERT_NOT_YET_VALID") return "Set this device's clock: it is behind.";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return "Check the host name in control_plane_url: it has to be one of the certificate's.";
  return "Put the authority that issued it into a file, and name that with --ca FILE when you enrol, or in extra_ca_file of the configuration; or something on the way, such as a filtering proxy, shows a certificate of its own.";
}

function describeCertificate(certificate: PeerCertificate): string {
  const { issuer, valid_from: from, valid_to: to, subjectaltname } = certificate;
  const names = subjectaltname === undefined ? "" : ` for ${subjectaltname}`;
  return `Issued${names} by ${joinNames(issuer?.CN)}, valid from ${formatDate(from)} to ${formatDate(to)}.`;
}

function nameOf({ subject }: PeerCertificate): string {
  return `The certificate of ${joinNames(subject?.CN)}`;
}

function joinNames(name: string | string[] | undefined): string {
  return [name ?? "an unnamed subject"].flat().join(", ");
}

function formatDate(text: string): string {
  const time = Date.parse(text);
  return Number.isNaN(time) ? text : formatUtcMinute(time);
}
