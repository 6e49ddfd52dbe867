/**
 * The requests of this time, in ms up to now, stand for the requests of the future: an edit, a new target and a brownout are judged by
 * them, and a plan unless it names another period.
 */
export const recentMs = 7 * 86_400_000;
