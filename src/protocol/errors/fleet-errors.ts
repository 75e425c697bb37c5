/** The part of the error table for fleets, their revisions and their rollouts. */
export const FLEET_ERRORS = {
  HoldNotFound: {
    message: "The asset is not held.",
    http: 404,
    retryable: false,
    hint: "Hold it with PUT. A hold may have ended by itself.",
  },
  FleetNotFound: {
    message: "There is no such fleet in this account.",
    http: 404,
    retryable: false,
    hint: "List the fleets to see their names.",
  },
  FleetExists: {
    message: "A fleet of this name exists already.",
    http: 409,
    retryable: false,
    hint: "Change that one, or choose another name.",
  },
  RevisionNotFound: {
    message: "The fleet has no such revision.",
    http: 404,
    retryable: false,
    hint: "List the fleet's revisions to see their numbers.",
  },
  RolloutNotFound: {
    message: "The fleet has no such rollout.",
    http: 404,
    retryable: false,
    hint: "List the fleet's rollouts to see their ids.",
  },
  PlanNotFound: {
    message: "The fleet has no such plan of a rollout, it has been started already, or it has expired.",
    http: 404,
    retryable: false,
    hint: "If a start of it was sent before: edgectl rollouts list. Otherwise make another plan with a dry run; it can be started for seven days, once.",
  },
  RolloutStateConflict: {
    message: "The state of the rollout does not allow that.",
    http: 409,
    retryable: false,
    hint: "details.state tells its state. Look at the rollout again; one that is over stays as it is, and another one can be made.",
  },
  ApprovalBySameUser: {
    message: "Who made a rollout cannot approve it.",
    http: 403,
    retryable: false,
    hint: "Ask another person who may roll out to approve it.",
  },
  ImageNotResolved: {
    message: "The digest of an image could not be found out.",
    http: 502,
    retryable: true,
    hint: "details name the image and the reason. Check the tag, send registry_auth, or write the image with its digest.",
  },
} as const;
