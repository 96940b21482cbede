-- Writes one list, all of it or nothing. Of two writers the one with the larger total stays, unless its as_of is more than a
-- patience older.
-- KEYS: list, rank, publication, index, rules; of a global list also its two aliases.
-- ARGV: total in 20 digits, as_of in ms, writer, time to live in ms, member of the index, rule, patience in ms, list, publication;
-- then score and key of each item.
local old = redis.call('HMGET', KEYS[3], 'total', 'as_of', 'writer')
if old[1] and old[3] ~= ARGV[3] then
  local ahead, patience = tonumber(ARGV[2]) - tonumber(old[2]), tonumber(ARGV[7])
  if ahead < -patience then return 0 end
  if ahead <= patience and (ARGV[1] < old[1] or ARGV[1] == old[1] and ahead <= 0) then return 0 end
end
local function list(key, rank)
  redis.call('SET', key, ARGV[8], 'PX', ARGV[4])
  redis.call('DEL', rank)
  for i = 10, #ARGV, 1000 do
    redis.call('ZADD', rank, unpack(ARGV, i, math.min(i + 999, #ARGV)))
  end
  redis.call('PEXPIRE', rank, ARGV[4])
end
list(KEYS[1], KEYS[2])
redis.call('HSET', KEYS[3], 'total', ARGV[1], 'as_of', ARGV[2], 'writer', ARGV[3], 'publication', ARGV[9])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- Names that were not written for the time to live are removed: what they named has expired.
local function name(key, member)
  redis.call('ZADD', key, string.format('%.0f', now), member)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - ARGV[4] * 1000))
  redis.call('PEXPIRE', key, ARGV[4])
end
name(KEYS[4], ARGV[5])
name(KEYS[5], ARGV[6])
if KEYS[6] then
  if redis.call('ZCARD', KEYS[5]) == 1 then list(KEYS[6], KEYS[7]) else redis.call('DEL', KEYS[6], KEYS[7]) end
end
return 1
