/** The part of the error table for alerts. */
export const ALERT_ERRORS = {
  AlertNotFound: {
    message: "There is no such alert in this account.",
    http: 404,
    retryable: false,
    hint: "List the alerts to see their ids. Of those that are over the newest 10,000 are kept.",
  },
  AlertGroupNotFound: {
    message: "There is no such group of alerts in this account.",
    http: 404,
    retryable: false,
    hint: "`group_id` of a message is one. Groups that are over are removed after 30 days.",
  },
  SilenceNotFound: {
    message: "There is no such silence in this account.",
    http: 404,
    retryable: false,
    hint: "List the silences to see their ids. It may have ended by itself.",
  },
  AlertChannelNotFound: {
    message: "There is no such channel of alerts in this account.",
    http: 404,
    retryable: false,
    hint: "Read the settings of alerts to see the channels.",
  },
} as const;
