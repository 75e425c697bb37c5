import { formatUtcMinute } from "../../core/text.ts";
import { isIP } from "node:net";
import { connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { explainNetworkError } from "../../core/net/network-error.ts";
import { verifyHost } from "../../net/connect-options.ts";
import { createTrustContext } from "../../net/trust.ts";
import { controlPlaneEndpoint } from "../../net/endpoint.ts";
import { openControlPlaneStream } from "../../net/open-stream.ts";
import { bad, configOf, good, type ProbeContext, type Probe } from "../probe.ts";

/** The control plane's certificate is trusted. */
export const probeTls: Probe = async (context, signal) => {
  const { control_plane_url: address } = configOf(context);
  if (!address.startsWith("wss:")) return good("Not used: control_plane_url begins with ws://.");
  try {
    using socket = await openTlsSocket(context, signal);
    const certificate = socket.getPeerCertificate();
    if (socket.authorized) return good(`${nameOf(certificate)}, valid until ${formatDate(certificate.valid_to)}.`);
    // Node.js sets the error code, although the type is `Error`.
    const code = String(socket.authorizationError);
    const why = explainNetworkError({ code, message: code }, context.clock.timeOfDay());
    return bad(`${nameOf(certificate)} is not trusted: ${why}. ${describeCertificate(certificate)}`, nextFor(code));
  } catch (error) {
    const why = signal.aborted ? "it does not answer" : explainNetworkError(error, context.clock.timeOfDay());
    return bad(
      `No encrypted connection: ${why}.`,
      "Check the port in control_plane_url: does something speak TLS there?",
    );
  }
};

async function openTlsSocket(context: ProbeContext, signal: AbortSignal): Promise<TLSSocket & Disposable> {
  const { control_plane_url: address, extraCa } = configOf(context);
  const { host } = controlPlaneEndpoint(address);
  const stream = await openControlPlaneStream(address, extraCa, signal);
  const socket = connect({
    socket: stream,
    // An untrusted certificate is examined too; nothing is sent over this connection.
    rejectUnauthorized: false,
    checkServerIdentity: verifyHost(host),
    ...(isIP(host) === 0 && { servername: host }),
    ...(extraCa !== undefined && { secureContext: createTrustContext(extraCa) }),
  });
  signal.addEventListener("abort", () => socket.destroy(new Error("no answer")), { once: true });
  await new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.on("error", reject);
  });
  return Object.assign(socket, { [Symbol.dispose]: () => void socket.destroy() });
}

function nextFor(code: string): string {
  if (code === "CERT_HAS_EXPIRED") {
    return "If this device's clock is right, the control plane needs a new certificate: tell its operator.";
  }
  if (code === "CERT_NOT_YET_VALID") return "Set this device's clock: it is behind.";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return "Check the host name in control_plane_url: it has to be one of the certificate's.";
  return "Put the authority that issued it into a file and name that in extra_ca_file; or something on the way, such as a filtering proxy, shows a certificate of its own.";
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
