/** The part of the error table for fleets, their revisions and their rollouts. */
export const FLEET_ERRORS = {
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
    hint: "Choose another name, or change the fleet that has it.",
  },
  RevisionNotFound: {
    message: "The fleet has no such revision.",
    http: 404,
    retryable: false,
    hint: "List the revisions of the fleet. Old ones that nothing uses are removed when others are made.",
  },
  RolloutNotFound: {
    message: "The fleet has no such rollout.",
    http: 404,
    retryable: false,
    hint: "List the rollouts of the fleet to see their ids.",
  },
  RolloutStateConflict: {
    message: "The rollout is in a state in which this cannot be done.",
    http: 409,
    retryable: false,
    hint: "details.state has the state of the rollout.",
  },
  ApprovalBySameUser: {
    message: "Who made the rollout cannot approve it.",
    http: 403,
    retryable: false,
    hint: "Ask somebody else with the permission fleets.roll_out.",
  },
  ImageNotResolved: {
    message: "The digest of an image could not be found out.",
    http: 502,
    retryable: true,
    hint: "details name the image and the reason. Check the tag, send registry_auth, or write the image with its digest.",
  },
} as const;
