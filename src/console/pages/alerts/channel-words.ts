import type { AlertChannel } from "../../../protocol/api-types.ts";

export type ChannelKind = AlertChannel["kind"];

/** Kinds of channels, with what their address is. */
export const CHANNEL_KINDS: Readonly<Record<ChannelKind, { readonly label: string; readonly hint: string }>> = {
  email: { label: "Email", hint: "Sent by the server that `mail` of the service's configuration names." },
  webhook: { label: "Webhook", hint: "Gets JSON, signed by the Standard Webhooks specification." },
  slack: { label: "Slack", hint: "Address of an incoming webhook of Slack, or of what takes its format." },
  teams: { label: "Microsoft Teams", hint: "Address of a workflow that posts what it gets to a channel." },
  mattermost: { label: "Mattermost", hint: "Address of an incoming webhook." },
  pagerduty: { label: "PagerDuty", hint: "A group of alerts is an incident, and its end resolves it." },
  ntfy: { label: "ntfy", hint: "Address of a topic, such as https://ntfy.sh/my-gateways." },
};
